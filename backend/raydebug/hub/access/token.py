"""raydebug's own token: whoever has it is debugger. One per cluster, in a file on the head."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path
from typing import Final

from raydebug.hub.access.files import fingerprint, private_directory, read_private, write_private

TOKEN_FILE: Final = "token"
_FIXED: Final = "set by RAYDEBUG_TOKEN"


def new_token() -> str:
    """256 bits, safe in a URL's fragment."""
    return secrets.token_urlsafe(32)


def token_print(token: str) -> str:
    """What is kept and compared in the place of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


class TokenFixedError(Exception):
    """The token comes from the head's environment and can't be rotated."""


class TokenFile:
    """The token in ``<session_dir>/raydebug/token`` (mode 0600), read again whenever the file changed.

    ``fixed``: RAYDEBUG_TOKEN as the head was started with; it is written to the file so that `raydebug url` finds it.
    """

    def __init__(self, session_dir: Path, fixed: str | None = None) -> None:
        self.path = private_directory(session_dir) / TOKEN_FILE
        if fixed:
            write_private(self.path, f"{fixed}\n{_FIXED}\n".encode())
        elif not self.path.exists() or self._is_fixed():
            write_private(self.path, f"{new_token()}\n".encode())
        self._seen: tuple[int, int, int] | None = None
        self._print = ""
        self._reload()

    def matches(self, token: str) -> bool:
        self._reload()
        return bool(self._print) and hmac.compare_digest(token_print(token), self._print)

    def is_current(self, print_: str) -> bool:
        """Whether the token with this print is still the one."""
        self._reload()
        return bool(self._print) and hmac.compare_digest(print_, self._print)

    def _is_fixed(self) -> bool:
        return _FIXED in read_private(self.path).decode(errors="replace").splitlines()[1:]

    def _reload(self) -> None:
        seen = fingerprint(self.path)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            token = read_token(self.path)
        except OSError:  # deleted, or taken over by somebody else: no token is right any more
            token = ""
        self._print = token_print(token) if token else ""


def read_token(path: Path) -> str:
    lines = read_private(path).decode(errors="replace").splitlines()
    return lines[0].strip() if lines else ""


def rotate(path: Path) -> str:
    """Write a new token; a running hub takes it at once and ends the sessions on the old one."""
    if _FIXED in read_private(path).decode(errors="replace").splitlines()[1:]:
        raise TokenFixedError("The token is set by RAYDEBUG_TOKEN on the head; change it there and restart the head.")
    token = new_token()
    write_private(path, f"{token}\n".encode())
    return token
