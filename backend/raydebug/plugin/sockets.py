"""Where the unix sockets lie."""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from typing import Protocol

from raydebug.api.places import socket_file


class HasOptions(Protocol):
    """A socket, or what asyncio shows of one."""

    def getsockopt(self, level: int, option: int, size: int, /) -> bytes: ...


def is_own(connection: HasOptions) -> bool:
    """Whether a process of this user listens at the other end of a connected unix socket.

    Ray makes its session directory writable to everybody: another user of the machine may put a socket of theirs in the
    place of ours, and what is sent there holds tokens.
    """
    size = struct.calcsize("3i")
    _pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(uid == os.geteuid())


def socket_path(session_dir: str, name: str) -> str:
    """As ``places.socket_file`` says, in a directory that is there, and private where it lies in ``/tmp``."""
    path = socket_file(session_dir, name, os.geteuid())
    directory, name = os.path.split(path)
    if directory == os.path.join(session_dir, "sockets"):
        os.makedirs(directory, exist_ok=True)
        return path
    return os.path.join(_private(directory), name)


def _private(path: str) -> str:
    """Everybody may write to ``/tmp``: a directory there is only used when it is ours and closed to others."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="raydebug-", dir="/tmp")
    return path
