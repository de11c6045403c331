"""What each watched process says it is doing: its title, which Ray sets to ``ray::Class.method`` for sync actors.

One small read for each process and sample, from ``/proc/<pid>/cmdline`` kept open: the open file belongs to the process
and not to the number, so a reused pid reads as ended, never as somebody else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import close

from raydebug.api.helper import Title, Titles

TITLE_BYTES = 512


@dataclass(slots=True)
class _Watched:
    fd: int
    raw: bytes
    since_ns: int | None


def readable(raw: bytes) -> str:
    return raw.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace").rstrip()


def _open(pid: int) -> int:
    return os.open(f"/proc/{pid}/cmdline", os.O_RDONLY | os.O_CLOEXEC)


def _read(fd: int) -> bytes:
    return os.pread(fd, TITLE_BYTES, 0)


class TitleSampler:
    """``open_pid`` and ``read`` raise OSError, or ``read`` gives nothing, for a process that has ended."""

    def __init__(self, open_pid: Callable[[int], int] = _open, read: Callable[[int], bytes] = _read) -> None:
        self._open = open_pid
        self._read = read
        self._watched: dict[int, _Watched] = {}

    def __contains__(self, pid: object) -> bool:
        return pid in self._watched

    def __len__(self) -> int:
        return len(self._watched)

    def watch(self, pids: Iterable[int]) -> list[int]:
        """Replace the set of watched processes; returns those that aren't there."""
        wanted = set(pids)
        for pid in self._watched.keys() - wanted:
            self._drop(pid)
        gone = []
        for pid, one in list(self._watched.items()):
            if not self._look(one):  # ended; the same number may be a new process now
                self._drop(pid)
        for pid in sorted(wanted - self._watched.keys()):
            try:
                one = _Watched(self._open(pid), b"", None)
            except OSError:
                gone.append(pid)
                continue
            one.raw = self._look(one)
            self._watched[pid] = one
        return gone

    def all(self) -> list[Title]:
        return [Title(pid, readable(one.raw), one.since_ns) for pid, one in self._watched.items() if one.raw]

    def sample(self, now_ns: int) -> Titles | None:
        """One look at all; None when nothing has changed."""
        changed: list[Title] = []
        gone: list[int] = []
        read = self._read
        for pid, one in self._watched.items():
            try:
                raw = read(one.fd)
            except OSError:
                raw = b""
            if raw == one.raw:
                if not raw:
                    gone.append(pid)
            elif raw:
                changed.append(Title(pid, readable(raw), now_ns))
                one.raw, one.since_ns = raw, now_ns
            else:
                one.raw = raw  # ended, or for an instant in exec: the next look decides
        for pid in gone:
            self._drop(pid)
        return Titles(changed=changed, gone=gone) if changed or gone else None

    def _look(self, one: _Watched) -> bytes:
        try:
            return self._read(one.fd)
        except OSError:
            return b""

    def _drop(self, pid: int) -> None:
        close(self._watched.pop(pid).fd)
