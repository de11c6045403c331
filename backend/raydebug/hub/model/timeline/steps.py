"""Training steps: as the job declares them by ``raydebug.step(n)``, else as its calls repeat (``cycles``), or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from raydebug.api.timeline import Step
from raydebug.hub.model.timeline.cycles import Calls, StepSpan, infer

MAX_STEPS: Final = 20_000
"""Steps of a job that are kept, the newest."""
MAX_SOURCES: Final = 65_536
"""Processes of a job whose numbers are followed."""


class Steps:
    """The steps of all jobs."""

    def __init__(self) -> None:
        self.dropped = 0
        """Declared steps that were dropped: the oldest of a job with more than MAX_STEPS."""
        self._declared: Final[dict[str, _Declared]] = {}
        self._inferred: Final[dict[str, tuple[tuple[int, ...], list[StepSpan]]]] = {}

    def declare(self, job_id: str, source: str, number: int, at_ns: int) -> None:
        """A process, ``source``, began a step. Each rank may say so: the earliest of each number counts."""
        declared = self._declared.setdefault(job_id, _Declared())
        self.dropped += declared.add(source, number, at_ns)

    def declares(self, job_id: str) -> bool:
        return job_id in self._declared

    def keep(self, job_ids: Iterable[str]) -> None:
        """Forget all other jobs."""
        kept = set(job_ids)
        for held in (self._declared, self._inferred):
            for job_id in held.keys() - kept:
                del held[job_id]

    def rows(self, job_id: str, calls: Calls | None, parent_id: Callable[[int], str] = str) -> list[Step]:
        """The steps of a job by time: the declared ones where there are any, else those that ``calls`` (all that are
        held) show."""
        declared = self._declared.get(job_id)
        if declared is not None:
            self._inferred.pop(job_id, None)
            return declared.rows(job_id)
        if calls is None:
            return []
        seen = (calls.submit.size, *(int(column.sum()) for column in calls))
        before = self._inferred.get(job_id)
        if before is None or before[0] != seen:
            self._inferred[job_id] = seen, infer(calls, before[1] if before else ())
        _, spans = self._inferred[job_id]
        return [
            Step(
                step_id=f"{job_id}/{parent_id(span.parent)}/{span.number}",
                job_id=job_id,
                number=span.number,
                start_ns=span.start_ns,
                end_ns=span.end_ns,
                inferred=True,
            )
            for span in spans[-MAX_STEPS:]
        ]


class _Declared:
    """What the processes of a job said.

    Numbers may begin anew (an epoch, a second training): where a process says a number lower than its last one, its
    next *round* begins. All ranks go through the same rounds; a process that comes later, such as a restarted rank, is
    in the one that goes on. A process says things by time: what is not later than its last word is a repetition.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[int, int], int] = {}
        self._sources: dict[str, tuple[int, int, int]] = {}
        self._round = 0

    def add(self, source: str, number: int, at_ns: int) -> int:
        """How many steps were dropped for it."""
        turn, last, last_ns = self._sources.get(source, (self._round, number, at_ns - 1))
        if at_ns <= last_ns:
            return 0
        if number < last:
            turn += 1
        self._round = max(self._round, turn)
        self._sources.pop(source, None)
        self._sources[source] = turn, number, at_ns
        if len(self._sources) > MAX_SOURCES:
            del self._sources[next(iter(self._sources))]
        key = turn, number
        self._starts[key] = min(self._starts.get(key, at_ns), at_ns)
        return self._shorten() if len(self._starts) > MAX_STEPS + MAX_STEPS // 8 else 0

    def _shorten(self) -> int:
        oldest = sorted(self._starts, key=lambda key: self._starts[key])[:-MAX_STEPS]
        for key in oldest:
            del self._starts[key]
        return len(oldest)

    def rows(self, job_id: str) -> list[Step]:
        by_time = sorted((at_ns, turn, number) for (turn, number), at_ns in self._starts.items())[-MAX_STEPS:]
        return [
            Step(
                step_id=f"{job_id}/declared/{number}" if turn == 0 else f"{job_id}/declared/{number}.{turn}",
                job_id=job_id,
                number=number,
                start_ns=at_ns,
                end_ns=by_time[nth + 1][0] if nth + 1 < len(by_time) else None,
                inferred=False,
            )
            for nth, (at_ns, turn, number) in enumerate(by_time)
        ]
