"""Training steps: as the job declares them by ``raydebug.step(n)``, else as its calls repeat, else none.

Inferred: a *group call* is what one call of a WorkerGroup's method fans out to (the k-th call of that method on each
member). Of one parent's group calls, in the order of their submission, a stretch that repeats at least MIN_REPEATS
times in a row is a cycle; each of its occurrences is a step, and what comes between two of them (a validation, a
checkpoint) belongs to the one before. A cycle of a single call may as well be polling, and one that explains less than
COVERS of the calls from its first occurrence on is chance: no steps then. Of several parents the one whose cycle has
most calls counts.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from raydebug.api.timeline import Step
from raydebug.hub.model.timeline.columns import Int64s

MIN_REPEATS: Final = 4
COVERS: Final = 0.6
MAX_PERIOD: Final = 256
LOOKED_AT: Final = 4096
"""A cycle is looked for among the last so many group calls of a parent, then followed through all."""
MAX_DECLARED: Final = 20_000
"""Steps of a job that are kept, the newest."""


class Calls(NamedTuple):
    """Calls of actors' methods, in any order: columns of equal length. ``group``: what the callee belongs to."""

    parent: Int64s
    submit: Int64s
    group: Int64s
    method: Int64s
    member: Int64s


class Cycle(NamedTuple):
    """``starts``: when each occurrence begins, an incomplete last one too. ``calls``: how many group calls they
    hold."""

    parent: int
    starts: list[int]
    calls: int


def infer(calls: Calls) -> Cycle | None:
    """The steps of a job, None where nothing repeats."""
    parents, symbols, at = _group_calls(calls)
    best: Cycle | None = None
    for parent in np.unique(parents):
        mine = parents == parent
        found = _cycle(symbols[mine])
        if found is None:
            continue
        begins, length = found
        cycle = Cycle(int(parent), at[mine][begins].tolist(), length * len(begins))
        if best is None or cycle.calls > best.calls:
            best = cycle
    return best


def _group_calls(calls: Calls) -> tuple[Int64s, Int64s, Int64s]:
    """Parent, symbol and first submission of each group call, by submission."""
    pairs = np.stack([calls.parent, calls.group, calls.method, calls.member])
    order = np.lexsort((calls.submit, *pairs[::-1]))
    pairs, submit = pairs[:, order], calls.submit[order]
    if submit.size == 0:
        return submit, submit, submit
    fresh = np.ones(submit.size, np.bool_)
    fresh[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    begins = np.flatnonzero(fresh)
    nth = np.arange(submit.size) - np.repeat(begins, np.diff(np.append(begins, submit.size)))
    keys = np.stack([pairs[0], pairs[1], pairs[2], nth])
    order = np.lexsort((submit, *keys[::-1]))
    keys, submit = keys[:, order], submit[order]
    first = np.ones(submit.size, np.bool_)
    first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    keys, submit = keys[:, first], submit[first]
    order = np.argsort(submit, kind="stable")
    _, symbols = np.unique(keys[1] * (int(keys[2].max()) + 1) + keys[2], return_inverse=True)
    return keys[0][order], np.asarray(symbols, np.int64)[order], submit[order]


def _cycle(symbols: Int64s) -> tuple[Int64s, int] | None:
    """Where the occurrences of the best cycle begin, and how long it is."""
    best: tuple[int, Int64s, int] | None = None
    tried = set()
    for pattern in _candidates(symbols[-LOOKED_AT:]):
        if pattern in tried:
            continue
        tried.add(pattern)
        begins = _occurrences(symbols, np.array(pattern))
        length = len(pattern)
        if len(begins) < MIN_REPEATS:
            continue
        covered = length * len(begins)
        if covered < COVERS * (begins[-1] + length - begins[0]):
            continue
        if best is None or covered > best[0]:
            best = (covered, begins, length)
    if best is None:
        return None
    _, begins, length = best
    pattern_ = symbols[begins[0] : begins[0] + length]
    rest = symbols[begins[-1] + length :]
    # The step that goes on: its first call is there, whatever came between. Where that call comes alone, too (a rollout
    # to validate), the second one must be there as well.
    inside = (begins[:, None] + np.arange(length)).ravel()
    between = np.delete(symbols[begins[0] : begins[-1] + length], inside - begins[0])
    needed = 2 if pattern_[0] in between else 1
    again = np.flatnonzero(rest[: 2 * length] == pattern_[0])
    for at in again:
        told = len(rest) - at
        if told >= needed and (rest[at : at + length] == pattern_[:told]).all():
            begins = np.append(begins, begins[-1] + length + at)
            break
    return begins, length


def _candidates(symbols: Int64s) -> list[tuple[int, ...]]:
    """Stretches that repeat at least MIN_REPEATS times in a row, shortest first."""
    found = []
    for period in range(2, min(MAX_PERIOD, len(symbols) // MIN_REPEATS) + 1):
        equal = symbols[:-period] == symbols[period:]
        begin, length = _longest_run(equal)
        if length < (MIN_REPEATS - 1) * period:
            continue
        pattern = symbols[begin : begin + period]
        if len(np.unique(pattern)) >= 2:
            found.append(tuple(pattern.tolist()))
    return found


def _longest_run(true: npt.NDArray[np.bool_]) -> tuple[int, int]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], true.astype(np.int8), [0]))))
    begins, ends = edges[::2], edges[1::2]
    if begins.size == 0:
        return 0, 0
    at = int(np.argmax(ends - begins))
    return int(begins[at]), int(ends[at] - begins[at])


def _occurrences(symbols: Int64s, pattern: Int64s) -> Int64s:
    length = len(pattern)
    if len(symbols) < length:
        return np.zeros(0, np.int64)
    here = np.ones(len(symbols) - length + 1, np.bool_)
    for at, symbol in enumerate(pattern.tolist()):
        here &= symbols[at : len(symbols) - length + 1 + at] == symbol
    taken, free = [], 0
    for at in np.flatnonzero(here).tolist():
        if at >= free:
            taken.append(at)
            free = at + length
    return np.array(taken, np.int64)


class Declared:
    """What jobs said by ``raydebug.step(n)``: the earliest time of each number, whichever rank was first."""

    def __init__(self) -> None:
        self._steps: dict[str, dict[int, int]] = defaultdict(dict)
        self.dropped = 0

    def add(self, job_id: str, number: int, at_ns: int) -> None:
        steps = self._steps[job_id]
        steps[number] = min(steps.get(number, at_ns), at_ns)
        if len(steps) > MAX_DECLARED:
            del steps[min(steps, key=lambda one: steps[one])]
            self.dropped += 1

    def of(self, job_id: str) -> list[tuple[int, int]]:
        """(number, since when), by time."""
        return sorted(self._steps.get(job_id, {}).items(), key=lambda step: (step[1], step[0]))


def rows(job_id: str, source: str, steps: list[tuple[int, int]], *, inferred: bool) -> dict[str, Step]:
    """``steps``: (number, start), by time."""
    found = {}
    for at, (number, start) in enumerate(steps):
        key = f"{job_id}/{source}/{number}"
        end = steps[at + 1][1] if at + 1 < len(steps) else None
        found[key] = Step(step_id=key, job_id=job_id, number=number, start_ns=start, end_ns=end, inferred=inferred)
    return found
