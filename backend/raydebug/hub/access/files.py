"""Files that only their owner may read."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

DIRECTORY = "raydebug"
"""Below Ray's session directory, beside (not in) its log folder."""


def private_directory(session_dir: Path) -> Path:
    """``<session_dir>/raydebug``, mode 0700, made if needed. Raises PermissionError if it is somebody else's."""
    path = session_dir / DIRECTORY
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = os.lstat(path)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
        raise PermissionError(f"{path} isn't a directory of this user's")
    if facts.st_mode & 0o077:
        path.chmod(0o700)
    return path


def write_private(path: Path, data: bytes) -> None:
    """Replace ``path`` at once by a file of mode 0600; never readable by others, not even for a moment."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_private(path: Path) -> bytes:
    """The content of a regular file that belongs to this user; a link is refused. Too open a mode is mended."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            raise PermissionError(f"{path} isn't a file of this user's")
        if facts.st_mode & 0o077:
            os.fchmod(file.fileno(), 0o600)
        return file.read(1 << 24)


def fingerprint(path: Path) -> tuple[int, int, int] | None:
    """Changes whenever :func:`write_private` wrote the file; None where there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ino, facts.st_size
