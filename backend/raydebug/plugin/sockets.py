"""Where the unix sockets lie."""

from __future__ import annotations

import os
import tempfile

LIMIT = 100
"""``sun_path`` holds 107 bytes; a little is left for those who append to it."""


def socket_path(session_dir: str, name: str) -> str:
    """``<session_dir>/sockets/<name>``, or the same name in a new private directory where that is too long."""
    path = os.path.join(session_dir, "sockets", name)
    if len(os.fsencode(path)) <= LIMIT:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path
    return os.path.join(tempfile.mkdtemp(prefix="raydebug-", dir="/tmp"), name)
