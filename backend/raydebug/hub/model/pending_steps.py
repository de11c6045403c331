"""Declared steps of processes whose job isn't known yet: asked for again until it is, within bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from raydebug.api.helper import StepMark

HELD: Final = 100_000


class PendingSteps:
    """``job_of(node_id, pid)``: None while it isn't known. ``declare(job_id, source, number, at_ns)`` gets what is;
    ``source`` is the process."""

    def __init__(self, job_of: Callable[[str, int], str | None], declare: Callable[[str, str, int, int], None]) -> None:
        self._job_of: Final = job_of
        self._declare: Final = declare
        self._waiting: deque[tuple[str, StepMark]] = deque(maxlen=HELD)
        self.dropped = 0

    def add(self, node_id: str, marks: Iterable[StepMark]) -> None:
        for mark in marks:
            self.dropped += len(self._waiting) == HELD
            self._waiting.append((node_id, mark))
        self.settle()

    def settle(self) -> None:
        """Try again; to be called when processes have become known."""
        jobs: dict[tuple[str, int], str | None] = {}
        left: deque[tuple[str, StepMark]] = deque(maxlen=HELD)
        for node_id, mark in self._waiting:
            key = (node_id, mark.pid)
            if key not in jobs:
                jobs[key] = self._job_of(*key) or self._job_of(node_id, mark.parent_pid)
            job = jobs[key]
            if job is None:
                left.append((node_id, mark))
            else:
                self._declare(job, f"{node_id}/{mark.pid}", mark.number, mark.at_ns)
        self._waiting = left
