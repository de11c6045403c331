"""Paused workers get their places, also those that could not be looked at at first."""

from __future__ import annotations

import asyncio

import pytest

from raydebug.api.facts import PausedWorkerFact
from raydebug.api.helper import Frame, FrozenException, Stacks, Thread
from raydebug.api.paused import PausedSite
from raydebug.hub.model.cluster import Cluster
from raydebug.hub.model.store import Store
from raydebug.hub.sources import paused
from raydebug.hub.sources.paused import PausedSource

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


async def test_a_helper_that_comes_late_places_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paused, "_TRIES", 2)
    cluster, helper = Cluster(Store()), Helper()
    source = PausedSource(OnePaused(), cluster, helper, lambda: None)  # type: ignore[arg-type]

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
