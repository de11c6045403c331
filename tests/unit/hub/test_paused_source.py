"""Paused workers get their places, also those that could not be looked at at first."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from raydebug.api.facts import PausedWorkerFact
from raydebug.api.helper import Frame, FrozenException, Stacks, Thread
from raydebug.api.paused import PausedSite
from raydebug.hub.model.cluster import Cluster
from raydebug.hub.model.store import Store
from raydebug.hub.sources import paused
from raydebug.hub.sources.paused import PausedSource
from raydebug.hub.sources.since import SinceFile

WORKER = PausedWorkerFact(worker_id="w", pid=7, node_id="n", is_driver=False, threads=1)
STACK = Thread(
    thread_id=7,
    name="MainThread",
    active=False,
    frames=[
        Frame(function="set_trace", file="/venv/ray/util/rpdb.py", line=299),
        Frame(function="step", file="/job.py", line=5),
    ],
)


class OnePaused:
    async def paused_workers(self) -> list[PausedWorkerFact]:
        return [WORKER]

    async def legacy_sessions(self) -> list[object]:
        return []


class Helper:
    def __init__(self) -> None:
        self.up = False
        self.asked = 0

    async def dump(self, node_id: str, pid: int) -> Stacks:
        self.asked += 1
        if self.up:
            return Stacks(id=1, pid=pid, threads=[STACK])
        return Stacks(id=1, pid=pid, threads=[], error="no helper")

    async def read_exception(self, node_id: str, pid: int, ident: int) -> FrozenException:
        raise AssertionError("nobody crashed")


def source_of(cluster: Cluster, helper: Helper, state: Path) -> PausedSource:
    since = SinceFile(state / "paused.json")
    return PausedSource(OnePaused(), cluster, helper, since, lambda: None)  # type: ignore[arg-type]


async def test_since_when_is_kept_over_a_restart_of_the_hub(tmp_path: Path) -> None:
    def since() -> int:
        cluster.refresh()
        (one,) = cluster.store.table("paused").values()
        assert isinstance(one, PausedSite)
        return one.since_ns

    cluster = Cluster(Store())
    await source_of(cluster, Helper(), tmp_path).look()
    before = since()
    cluster = Cluster(Store())
    await source_of(cluster, Helper(), tmp_path).look()
    assert since() == before
    (tmp_path / "paused.json").write_text("{not json")
    cluster = Cluster(Store())
    await source_of(cluster, Helper(), tmp_path).look()
    assert since() > before


async def test_a_helper_that_comes_late_places_what_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paused, "_TRIES", 2)
    cluster, helper = Cluster(Store()), Helper()
    source = source_of(cluster, helper, tmp_path)

    def place() -> tuple[int | None, str | None]:
        cluster.refresh()
        (one,) = cluster.store.table("paused").values()
        assert isinstance(one, PausedSite)
        return one.line, one.note

    await source.look()
    await asyncio.sleep(0.4)
    assert place() == (None, "no helper")
    helper.up = True
    await source.look()
    assert place() == (None, "no helper")  # the number of its paused threads didn't change
    source.place_again("another node")
    source.place_again("n")
    await asyncio.sleep(0.05)
    assert place() == (5, None)
    asked = helper.asked
    source.place_again("n")
    await asyncio.sleep(0.05)
    assert helper.asked == asked


async def test_a_thread_that_stopped_elsewhere_meanwhile_is_placed_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paused, "_CHECK_S", 0.0)
    monkeypatch.setattr(paused, "_CHECK_EACH_S", 0.0)
    cluster, helper = Cluster(Store()), Helper()
    helper.up = True
    source = source_of(cluster, helper, tmp_path)

    async def looked() -> PausedSite:
        await source.look()
        await asyncio.sleep(0.05)
        cluster.refresh()
        (one,) = cluster.store.table("paused").values()
        assert isinstance(one, PausedSite)
        return one

    first = await looked()
    assert (await looked()).since_ns == first.since_ns  # nothing has changed
    *ray, user = STACK.frames
    elsewhere = msgspec.structs.replace(STACK, frames=[*ray, msgspec.structs.replace(user, line=user.line + 9)])
    monkeypatch.setitem(globals(), "STACK", elsewhere)
    after = await looked()
    assert (after.line, after.since_ns > first.since_ns) == (user.line + 9, True)
