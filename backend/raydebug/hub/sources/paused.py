"""Paused workers and drivers: found by the GCS, placed by their stacks. Never by attaching."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from raydebug.api.facts import LegacySessionFact, PausedWorkerFact
from raydebug.api.helper import FrozenException, Stacks
from raydebug.hub.model.cluster import Cluster, PausedPlaces
from raydebug.hub.model.sites import Place, paused_places
from raydebug.hub.model.store import Store
from raydebug.hub.sources.pace import Pace
from raydebug.hub.sources.report import Report
from raydebug.hub.sources.since import SinceFile
from raydebug.ray_compat import Gcs, GcsError

_LEGACY_PERIOD_S: Final = 1.0
_CHECK_S: Final = 1.0
_CHECK_EACH_S: Final = 3.0
_TRIES: Final = 8
"""py-spy doesn't stop the process: a stack may be torn, or the last thread isn't there yet."""


class Stacker(Protocol):
    """Whoever can look into a node's process from outside; an answer's ``error`` says why there is nothing in it."""

    async def dump(self, node_id: str, pid: int) -> Stacks: ...
    async def read_exception(self, node_id: str, pid: int, ident: int) -> FrozenException: ...


class PausedSource:
    name: Final = "paused"

    def __init__(
        self, gcs: Gcs, cluster: Cluster, stacker: Stacker, memory: SinceFile, changed: Callable[[], None]
    ) -> None:
        self._gcs: Final = gcs
        self._cluster: Final = cluster
        self._stacker: Final = stacker
        self._changed: Final = changed
        self._memory: Final = memory
        self._remembered = memory.load()
        self._now: dict[str, PausedPlaces] = {}
        self._placing: dict[str, asyncio.Task[None]] = {}
        self._legacy: list[LegacySessionFact] = []
        self._legacy_asked = 0.0
        self._checked: dict[str, float] = {}

    async def run(self, store: Store) -> None:
        pace = Pace(least_s=0.1)
        report = Report(store, self.name)
        try:
            while True:
                began = time.monotonic()
                try:
                    await self.look()
                except GcsError as error:
                    report.ill(pace.period_s, f"paused workers aren't known now: {error}")
                else:
                    report.well(pace.period_s)
                await asyncio.sleep(pace.pause_after(time.monotonic() - began))
        finally:
            for task in self._placing.values():
                task.cancel()

    async def look(self) -> None:
        """Ask once; a worker whose number of paused threads changed is placed anew, in the background."""
        workers = {worker.worker_id: worker for worker in await self._gcs.paused_workers()}
        if time.monotonic() - self._legacy_asked > _LEGACY_PERIOD_S:
            self._legacy_asked = time.monotonic()
            legacy = await self._gcs.legacy_sessions()
            if legacy != self._legacy:
                self._legacy = legacy
                self._publish()
        self._check_again()
        before = {key: places.worker for key, places in self._now.items()}
        if workers == before:
            return
        for gone in before.keys() - workers.keys():
            del self._now[gone]
            self._checked.pop(gone, None)
            if task := self._placing.pop(gone, None):
                task.cancel()
        for worker_id, worker in workers.items():
            known = self._now.get(worker_id)
            if known is None or known.worker != worker:
                since_ns = known.since_ns if known else self._remembered.pop(worker_id, time.time_ns())
                self._now[worker_id] = _unplaced(worker, since_ns, known.places if known else [])
                if task := self._placing.pop(worker_id, None):
                    task.cancel()
                self._placing[worker_id] = asyncio.create_task(self._place(worker, since_ns))
        self._memory.save({worker_id: places.since_ns for worker_id, places in self._now.items()})
        self._publish()

    def place_again(self, node_id: str) -> None:
        """The node's helper is up: look for the places that could not be read before."""
        for worker_id, places in self._now.items():
            task = self._placing.get(worker_id)
            unknown = sum(place.thread_id is not None for place in places.places) < places.worker.threads
            if places.worker.node_id == node_id and unknown and (task is None or task.done()):
                self._placing[worker_id] = asyncio.create_task(self._place(places.worker, places.since_ns))

    def _check_again(self) -> None:
        """Ray names only how many threads are paused: one that went on and stopped elsewhere between two questions is
        seen by its stack alone. So look at each again now and then, at one worker a second at most."""
        now = time.monotonic()
        waiting = [key for key in self._now if (task := self._placing.get(key)) is None or task.done()]
        oldest = min(waiting, key=lambda key: self._checked.get(key, 0.0), default=None)
        last = max(self._checked.values(), default=0.0)
        if oldest is None or now - last < _CHECK_S or now - self._checked.get(oldest, 0.0) < _CHECK_EACH_S:
            return
        self._checked[oldest] = now
        self._placing[oldest] = asyncio.create_task(self._check(self._now[oldest]))

    async def _check(self, known: PausedPlaces) -> None:
        worker = known.worker
        stacks = await self._stacker.dump(worker.node_id, worker.pid)
        found = paused_places(stacks.threads)
        if len(found) == worker.threads and _stops(found) != _stops(known.places):
            await self._place(worker, time.time_ns())

    async def _place(self, worker: PausedWorkerFact, since_ns: int) -> None:
        best: list[Place] = []
        error = None
        for attempt in range(_TRIES):
            stacks = await self._stacker.dump(worker.node_id, worker.pid)
            error = stacks.error
            found = [await self._with_exception(worker, place) for place in paused_places(stacks.threads)]
            if len(found) > len(best):
                best = found
                self._now[worker.worker_id] = PausedPlaces(
                    worker=worker, places=_filled(worker, best), since_ns=since_ns
                )
                self._publish()
            if len(best) >= worker.threads:
                return
            await asyncio.sleep(min(2.0, 0.05 * 2**attempt))
        note = error or "its stack didn't show where it is paused"
        self._now[worker.worker_id] = PausedPlaces(worker=worker, places=_filled(worker, best, note), since_ns=since_ns)
        self._publish()

    async def _with_exception(self, worker: PausedWorkerFact, place: Place) -> Place:
        """The place of an exception lies in its traceback, not on the stack."""
        if place.kind != "exception" or place.ident is None:
            return place
        frozen = await self._stacker.read_exception(worker.node_id, worker.pid, place.ident)
        if frozen.type_name is None:
            return msgspec.structs.replace(place, note=frozen.error)
        at = frozen.user_frame
        return msgspec.structs.replace(
            place,
            exception=frozen.type_name,
            message=frozen.message,
            file=at.file if at else None,
            line=at.line if at else None,
            function=at.function if at else None,
        )

    def _publish(self) -> None:
        paused = dict(self._now)
        for session in self._legacy:
            if session.worker_id and session.node_id and session.worker_id not in paused:
                paused[session.worker_id] = _legacy_places(session)
        self._cluster.set_paused(paused)
        self._changed()


def _stops(places: list[Place]) -> set[tuple[object, ...]]:
    """What of places a stack alone tells: that of an exception lies in its traceback."""
    return {
        (place.thread_id, place.kind, *((place.file, place.line) if place.kind == "breakpoint" else ()))
        for place in places
    }


def _unplaced(worker: PausedWorkerFact, since_ns: int, known: list[Place]) -> PausedPlaces:
    placed = [place for place in known if place.thread_id is not None]
    return PausedPlaces(worker=worker, places=_filled(worker, placed, "looking for the place"), since_ns=since_ns)


def _filled(worker: PausedWorkerFact, found: list[Place], note: str | None = None) -> list[Place]:
    """As many places as threads are paused: those not found are there, too, with the reason."""
    missing = worker.threads - len(found)
    return found + [Place(kind="breakpoint", note=note or "looking for the place")] * max(0, missing)


def _legacy_places(session: LegacySessionFact) -> PausedPlaces:
    place = Place(
        kind="legacy", file=session.filename, line=session.line, exception=session.exception, function=session.proctitle
    )
    worker = PausedWorkerFact(
        worker_id=session.worker_id or "",
        pid=0,
        node_id=session.node_id or "",
        is_driver=False,
        threads=1,
    )
    return PausedPlaces(
        worker=worker,
        places=[msgspec.structs.replace(place, function=None)],
        since_ns=session.since_ns or time.time_ns(),
        job_id=session.job_id,
        task_id=session.task_id,
    )
