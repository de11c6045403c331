"""Tasks by asking the GCS for all it stores, so seldom that it spends a twentieth of its time on it at most."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from raydebug.api.task_facts import TaskBatch
from raydebug.hub.model.store import Store
from raydebug.hub.sources.pace import Pace
from raydebug.hub.sources.report import Report
from raydebug.ray_compat import Gcs, GcsError, TaskReader

_LEAST_S: Final = 0.5
SETTLED_S: Final = 20.0
"""Ray waits 15 s (gcs_mark_task_failed_on_job_done_delay_ms)."""


class Pulled(NamedTuple):
    """A look at the GCS. ``dropped``: events that Ray says it has dropped; ``truncated``: tasks it didn't send."""

    fresh_ns: int
    period_ns: int
    dropped: int
    truncated: int


class Settling:
    """When the GCS has marked what ended jobs left running: SETTLED_S after their end."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def due(self, ended: Mapping[str, int | None], now_ns: int) -> bool:
        """``ended``: the jobs that have ended, and when. True once for each of them, some time after its end."""
        self._done &= set(ended)
        ripe = {job for job, end in ended.items() if job not in self._done and now_ns - (end or 0) > SETTLED_S * 1e9}
        self._done |= ripe
        return bool(ripe)


class TaskPullSource:
    """One poller for all viewers. ``apply`` gets the news, ``told`` is called after each look."""

    name: Final = "tasks"

    def __init__(self, gcs: Gcs, apply: Callable[[TaskBatch], None], told: Callable[[Pulled], None]) -> None:
        self._gcs: Final = gcs
        self._apply: Final = apply
        self._told: Final = told
        self._reader: Final = TaskReader()
        self._wanted: Final = asyncio.Event()
        self.only_on_demand = False
        """With push: a look at the start, then when somebody calls :meth:`again`."""

    def again(self) -> None:
        """Something may have been missed: look once more."""
        self._wanted.set()

    async def run(self, store: Store) -> None:
        pace = Pace(least_s=_LEAST_S, most_s=120.0)
        report = Report(store, self.name)
        failing_since: float | None = None
        while True:
            began = time.monotonic()
            cost = 0.0
            try:
                cost = await self.look(pace.period_s)
            except (GcsError, ValueError) as error:
                failing_since = failing_since or began
                report.ill(pace.period_s, f"no tasks from the GCS for {began - failing_since:.0f} s: {error}")
            else:
                failing_since = None
                report.well(pace.period_s)
            pause = pace.pause_after(cost or time.monotonic() - began)
            await asyncio.sleep(pause)
            if self.only_on_demand:
                await self._wanted.wait()
            self._wanted.clear()

    async def look(self, period_s: float) -> float:
        """Ask once and hand over the news; how long the GCS took, in seconds."""
        began = time.monotonic()
        data = await self._gcs.task_events()
        cost = time.monotonic() - began
        fresh_ns = time.time_ns()
        reply, batches = await asyncio.to_thread(self._reader.read, data)
        while (batch := await asyncio.to_thread(_next, batches)) is not None:
            self._apply(batch)
            await asyncio.sleep(0)
        self._told(Pulled(fresh_ns, int(max(period_s, _LEAST_S) * 1e9), reply.dropped, reply.truncated))
        return cost


def _next(batches: Iterator[TaskBatch]) -> TaskBatch | None:
    return next(batches, None)
