"""Holds the attempts. What is said of one may come in any order, late, or twice: the outcome is the same.

The earliest pending time is its submission, the earliest RUNNING its start, the end its last terminal time, unless the
worker itself has reported the run: then start and end are the worker's. The state is the furthest one that was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from raydebug.api.task_facts import (
    ACTOR_TASK,
    DRIVER_TASK,
    NORMAL_TASK,
    TaskBatch,
    TaskChange,
    TaskDefinition,
    TaskRun,
)
from raydebug.hub.model.timeline.columns import UNKNOWN, Columns, Int64s, Words
from raydebug.hub.model.timeline.intern import Interner
from raydebug.hub.model.timeline.states import ENDED, RANK_OF, RUNS

DEFAULT_CAP: Final = 2_000_000
MAX_ERRORS: Final = 4096
MAX_ERROR_TEXT: Final = 4096
_MAX_TIME: Final = 1 << 62
_NO_ACTOR: Final = b"\xff" * 12
_NO_UNIQUE: Final = b"\xff" * 8


class Call(NamedTuple):
    """What attempts have in common. ``actor_id``: 16 bytes, empty of normal and driver tasks."""

    actor_id: bytes
    name: str
    type: int
    job_id: bytes


class Worker(NamedTuple):
    worker_id: bytes
    job_id: bytes


class TaskStore:
    """``version`` grows with each change. ``cap``: attempts held at most; over it the oldest ended ones go."""

    def __init__(self, cap: int = DEFAULT_CAP) -> None:
        self.cap: Final = cap
        self.columns: Final = Columns()
        self.calls: Final = Interner(Call(b"", "", NORMAL_TASK, b""))
        self.workers: Final = Interner(Worker(b"", b""))
        self.worker_node: Final[list[bytes]] = [b""]
        self.worker_pid: Final[list[int]] = [0]
        self.parents: Final = Interner(b"")
        self.errors: Final = Interner(("", ""))
        self.version = 0
        self.dropped = 0
        """Attempts that were let go for the cap."""
        self.changed_rows: list[Int64s] = []
        """Rows touched since somebody last took them."""

    def apply(self, batch: TaskBatch) -> bool:
        """Take what a source brought; False if nothing was in it. Ids of a wrong length are left out by the source."""
        if not (batch.definitions or batch.changes or batch.runs):
            return False
        if batch.definitions:
            self._define(batch.definitions)
        if batch.changes:
            self._change(batch.changes)
        if batch.runs:
            self._run(batch.runs)
        self.version += 1
        if self.columns.count > self.cap:
            self._make_room()
        return True

    # What comes in -----------------------------------------------------------------------------------------------

    def _rows(self, entries: Sequence[Any]) -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """The rows of entries that begin with (task id, attempt), and which of the entries met a new row."""
        words: Words = np.frombuffer(b"".join([entry[0] for entry in entries]), np.uint64).reshape(-1, 3)
        attempts = np.array([entry[1] & 0xFFFF for entry in entries], np.uint16)
        before = self.columns.count
        rows = self.columns.find_or_add(words, attempts)
        self.changed_rows.append(rows)
        return rows, rows >= before

    def _define(self, definitions: Sequence[TaskDefinition]) -> None:
        rows, _ = self._rows(definitions)
        code = self.calls.code
        parent = self.parents.code
        columns = self.columns
        columns.call[rows] = [
            code(Call(d.actor_id or actor_of(d.task_id), d.name, d.type, d.task_id[20:])) for d in definitions
        ]
        known = [(row, parent(d.parent_task_id)) for row, d in zip(rows, definitions, strict=True) if d.parent_task_id]
        if known:
            columns.parent[[row for row, _ in known]] = [code for _, code in known]

    def _guess(self, rows: Int64s, new: npt.NDArray[np.bool_], entries: Sequence[Any]) -> None:
        """An attempt whose definition hasn't come: its id says whose it is and which job's."""
        for at in np.flatnonzero(new).tolist():
            task_id = entries[at][0]
            if self.columns.call[rows[at]] == 0:
                actor_id = actor_of(task_id)
                kind = ACTOR_TASK if actor_id else DRIVER_TASK if task_id[:8] == _NO_UNIQUE else NORMAL_TASK
                self.columns.call[rows[at]] = self.calls.code(Call(actor_id, "", kind, task_id[20:]))

    def _change(self, changes: Sequence[TaskChange]) -> None:
        rows, new = self._rows(changes)
        self._guess(rows, new, changes)
        columns = self.columns
        at = np.array([min(max(c.at_ns, 0), _MAX_TIME) for c in changes], np.int64)
        ranks = RANK_OF[np.array([c.state if 0 <= c.state < len(RANK_OF) else 0 for c in changes])]
        timed = at > 0
        pending = timed & (ranks < RUNS)
        np.minimum.at(columns.submit, rows[pending], at[pending])
        exact = columns.exact[rows] != 0
        begun = timed & (ranks >= RUNS) & (ranks < ENDED) & ~exact
        np.minimum.at(columns.start, rows[begun], at[begun])
        ended = timed & (ranks >= ENDED) & ~exact
        np.maximum.at(columns.end, rows[ended], at[ended])
        np.maximum.at(columns.rank, rows, ranks)
        where = [(row, self._worker(c)) for row, c in zip(rows.tolist(), changes, strict=True) if c.worker_id]
        if where:
            columns.worker[[row for row, _ in where]] = [code for _, code in where]
        broken = [(row, self._error(c)) for row, c in zip(rows.tolist(), changes, strict=True) if c.error_type]
        if broken:
            columns.error[[row for row, _ in broken]] = [code for _, code in broken]

    def _run(self, runs: Sequence[TaskRun]) -> None:
        rows, new = self._rows(runs)
        self._guess(rows, new, runs)
        columns = self.columns
        first = rows[columns.exact[rows] == 0]
        columns.start[first], columns.end[first], columns.exact[first] = UNKNOWN, 0, 1
        np.minimum.at(columns.start, rows, np.array([min(max(r.start_ns, 0), _MAX_TIME) for r in runs], np.int64))
        np.maximum.at(columns.end, rows, np.array([min(max(r.end_ns, 0), _MAX_TIME) for r in runs], np.int64))
        np.maximum.at(columns.rank, rows, np.uint8(RUNS))

    def _worker(self, change: TaskChange) -> int:
        code = self.workers.code(Worker(change.worker_id, change.task_id[20:]))
        if code == len(self.worker_node):
            self.worker_node.append(change.node_id)
            self.worker_pid.append(change.pid)
        if change.node_id:
            self.worker_node[code] = change.node_id
        if change.pid:
            self.worker_pid[code] = change.pid
        return code

    def _error(self, change: TaskChange) -> int:
        text = change.error_message
        if len(text) > MAX_ERROR_TEXT:
            text = f"{text[:MAX_ERROR_TEXT]}\n… ({len(text) - MAX_ERROR_TEXT} more characters)"
        error = (change.error_type, text)
        if len(self.errors) >= MAX_ERRORS and self.errors.find(error) is None:
            error = (change.error_type, "(the message isn't kept: too many different ones)")
        return self.errors.code(error)

    # What goes ---------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Let a tenth of the cap go, the oldest ended first: rarely, for all rows move."""
        columns = self.columns
        surplus = columns.count - self.cap + self.cap // 10
        age = np.where(columns.rank >= ENDED, columns.end, columns.end + (1 << 62))
        gone = np.argpartition(age, surplus - 1)[:surplus]
        kept = np.ones(columns.count, np.bool_)
        kept[gone] = False
        self.dropped += surplus
        columns.keep(kept)
        self.changed_rows = [np.arange(columns.count)]

    # What is asked -----------------------------------------------------------------------------------------------

    def begins(self) -> Int64s:
        """When each attempt is first known of: its submission, else its start, else its end."""
        columns = self.columns
        first = np.minimum(columns.submit, columns.start)
        return np.where(first == UNKNOWN, columns.end, first)

    def rows_of_task(self, task_id: bytes) -> Int64s:
        """All attempts of a task, by number."""
        word = np.frombuffer(task_id, np.uint64)
        rows = np.flatnonzero((self.columns.words == word).all(axis=1))
        return rows[np.argsort(self.columns.attempt[rows])]


def actor_of(task_id: bytes) -> bytes:
    """The actor whose task it is; empty for a normal or driver task (their ids have Ray's nil actor in them)."""
    return b"" if task_id[8:20] == _NO_ACTOR else task_id[8:24]
