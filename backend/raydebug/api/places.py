"""Where sockets lie: agreed upon by those who make them and those who look for them."""

from __future__ import annotations

import hashlib
import os
from typing import Final

LIMIT: Final = 100
"""``sun_path`` holds 107 bytes; a little is left for those who append to it."""


def socket_file(session_dir: str, name: str, uid: int) -> str:
    """``<session_dir>/sockets/<name>``; where that is too long, the same name in a directory below ``/tmp`` that
    follows from the session directory and the user, and is to be private to that user.
    """
    path = os.path.join(session_dir, "sockets", name)
    if len(os.fsencode(path)) <= LIMIT:
        return path
    digest = hashlib.sha256(os.fsencode(os.path.realpath(session_dir))).hexdigest()[:12]
    return os.path.join(f"/tmp/raydebug-{uid}-{digest}", name)
