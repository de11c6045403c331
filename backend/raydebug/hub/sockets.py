"""The unix socket the gateway talks to."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

_MAX_PATH = 107
_BACKLOG = 128


class SocketInUseError(OSError):
    """Another hub serves this path."""


def bind_private(path: Path) -> socket.socket:
    """A listening unix socket of mode 0600. A dead one in its place is removed, a live one is not."""
    if len(os.fsencode(path)) > _MAX_PATH:
        raise OSError(f"the socket's path is longer than {_MAX_PATH} bytes: {path}")
    _remove_dead(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    before = os.umask(0o177)
    try:
        server.bind(str(path))
    except BaseException:
        server.close()
        raise
    finally:
        os.umask(before)
    server.listen(_BACKLOG)
    server.setblocking(False)
    return server


def remove_own(path: Path, inode: int) -> None:
    """Remove the socket unless another hub has put its own there since."""
    with contextlib.suppress(OSError):
        if os.lstat(path).st_ino == inode:
            path.unlink()


def _remove_dead(path: Path) -> None:
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(facts.st_mode):
        raise OSError(f"{path} is in the way and isn't a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            return
        except OSError as error:
            raise SocketInUseError(f"{path} is taken: {error}") from error
    raise SocketInUseError(f"another hub serves {path}")
