"""Takes what client libraries in this node's workers say: today that a training step begins.

A worker is known by the credentials of its socket. What is said is kept within bounds, so that a hub that starts again
gets it once more.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from raydebug.api.frames import STEP, STEP_KIND
from raydebug.api.helper import StepMark

log = logging.getLogger("raydebug.helper")

MAX_WORKERS: Final = 4096
HELD: Final = 65_536
FRAME: Final = 64


class Workers:
    """``marks``: what was said, the newest last, each with its number from 1 on. ``said`` is called after news."""

    def __init__(self, said: Callable[[], None]) -> None:
        self.marks: Final[deque[tuple[int, StepMark]]] = deque(maxlen=HELD)
        self.malformed = 0
        self._said: Final = said
        self._next = 1
        self._listener: socket.socket | None = None
        self._peers: dict[socket.socket, tuple[int, int]] = {}
        self._dropped: dict[int, int] = {}

    @property
    def dropped(self) -> int:
        """Messages that the workers could not send, by their own count, and those that the ring let go."""
        return sum(self._dropped.values()) + max(0, self._next - 1 - HELD)

    def listen(self, path: str) -> None:
        """Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(128)
        listener.setblocking(False)
        self._listener = listener
        asyncio.get_running_loop().add_reader(listener, self._accept)

    def after(self, number: int) -> list[tuple[int, StepMark]]:
        """What was said after that number."""
        new = min(len(self.marks), max(0, self._next - 1 - number))
        return list(itertools.islice(self.marks, len(self.marks) - new, None))

    def _accept(self) -> None:
        assert self._listener is not None
        with contextlib.suppress(OSError):
            peer, _ = self._listener.accept()
            pid, uid, _gid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if uid != os.geteuid() or len(self._peers) >= MAX_WORKERS:
                peer.close()
                return
            peer.setblocking(False)
            self._peers[peer] = pid, _parent_of(pid)
            asyncio.get_running_loop().add_reader(peer, self._read, peer)

    def _read(self, peer: socket.socket) -> None:
        pid, parent = self._peers[peer]
        news = False
        try:
            # Some at a time: one that talks without end doesn't keep the others waiting.
            for _ in range(256):
                frame = peer.recv(FRAME)
                if not frame:
                    self._let_go(peer)
                    break
                if not self._take(pid, parent, frame):
                    self.malformed += 1
                    log.warning("process %d says what this helper can't read: let go", pid)
                    self._let_go(peer)
                    break
                news = True
        except BlockingIOError:
            pass
        except OSError:
            self._let_go(peer)
        if news:
            self._said()

    def _take(self, pid: int, parent: int, frame: bytes) -> bool:
        if len(frame) != STEP.size:
            return False
        kind, number, at_ns, dropped = STEP.unpack(frame)
        if kind != STEP_KIND:
            return False
        self._dropped[pid] = dropped
        if len(self._dropped) > MAX_WORKERS:
            self._dropped.pop(next(iter(self._dropped)))
        # One clock for both: nothing begins later than now.
        mark = StepMark(pid=pid, number=number, at_ns=min(at_ns, time.time_ns()), parent_pid=parent)
        self.marks.append((self._next, mark))
        self._next += 1
        return True

    def _let_go(self, peer: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(peer)
        self._peers.pop(peer, None)
        peer.close()


def _parent_of(pid: int) -> int:
    """0 where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
