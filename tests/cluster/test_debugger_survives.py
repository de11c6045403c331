"""A session outlives the hub and the helper; where nobody comes back, its worker is let go at its full speed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from raydebug.cli.live import Live
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.debugging import PATIENCE, Debugged, Job, at_breakpoint, attached, debug_cluster, job, live
from tests.support.plugin import command, ours

SPEEDS = Path(__file__).parent / "jobs" / "speeds.py"
STOP = at_breakpoint(SPEEDS, "stop")
LEASE_S = 8.0
"""Longer than a new hub takes on a busy machine, shorter than this test's patience."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster(env={"RAYDEBUG_LEASE_S": str(LEASE_S)}) as started:
        yield started


@pytest.fixture(scope="module")
def driver(cluster: RayCluster) -> Iterator[Job]:
    with job(cluster, SPEEDS) as started:
        yield started


def rounds(driver: Job) -> list[dict[str, float]]:
    """The speeds of each round so far."""
    return [json.loads(line.removeprefix("ROUND "))["speeds"] for line in driver.lines if line.startswith("ROUND ")]


def process_of(cluster: RayCluster, module: str) -> psutil.Process:
    (found,) = [one for one in ours(cluster) if f"-m {module} " in command(one)]
    return found


async def next_hub(cluster: RayCluster, before: int) -> None:
    await asyncio.to_thread(wait_for, "the next hub", lambda: api.hub_pid(cluster.url) != before)


async def stopped_session(client: Live) -> Debugged:
    """The session on the job's actor, its thread stopped; attached if it isn't."""
    rows = client.tables["sessions"].values()
    found = next((row.worker_id for row in rows if row.state in ("running", "stopped")), None)
    if found is None:
        return (await attached(client, SPEEDS, "stop"))[0]
    session = Debugged(client, found)
    await session.stopped(STOP)
    return session


async def test_the_hub_is_killed(cluster: RayCluster, driver: Job) -> None:
    marked = api.line_of(SPEEDS, "marked")
    async with live(cluster) as client:
        session = await stopped_session(client)
        thread = await session.stopped(STOP)
        frame_id, _ = await session.look(thread)
        wanted = [{"line": marked, "condition": "value == 41"}]
        await session("setBreakpoints", path=str(SPEEDS), breakpoints=wanted)
        # From here on nothing but the stop itself holds it.
        await session.value("setattr(self, 'hold', False) or 'remembered'", frame_id, "repl")
        await session.says("result", "remembered")
        worker_id, before = session.worker_id, len(rounds(driver))
        hub = api.hub_pid(cluster.url)
        await asyncio.sleep(0.5)  # what the keeper is told is gathered
        began = time.monotonic()
        os.kill(hub, signal.SIGKILL)
    await next_hub(cluster, hub)
    async with live(cluster) as client:
        session = Debugged(client, worker_id)
        again = await session.stopped(STOP)
        print(f"the session is back {time.monotonic() - began:.1f} s after the hub's end")
        assert (again.stop, again.threadId, again.task_id) == (thread.stop, thread.threadId, thread.task_id)
        await session.until(lambda row: [(one.line, one.verified) for one in row.breakpoints] == [(marked, True)])
        assert session.row.breakpoints[0].condition == "value == 41"
        assert session.row.attached_by == "raydebug's token"
        await session.says("result", "remembered")
        frame_id, variables = await session.look(again)
        assert "self" in variables
        assert await session.value("self.hold", frame_id) == "False"
        assert len(rounds(driver)) == before, "the worker went on"
        thread = await session.go_on(again, line=marked, task=False)
        assert (await session.look(thread))[1]["value"] == "41"
        await session("setBreakpoints", path=str(SPEEDS), breakpoints=[])
        await session.go_on(thread, line=STOP)


async def test_the_helper_is_killed(cluster: RayCluster, driver: Job) -> None:
    """The session doesn't blip."""
    async with live(cluster) as client:
        session = await stopped_session(client)
        thread = await session.stopped(STOP)
        frame_id, _ = await session.look(thread)
        helper = process_of(cluster, "raydebug.helper")
        helper.kill()
        seen = set()
        began = time.monotonic()

        def another() -> bool:
            found = [one.pid for one in ours(cluster) if "-m raydebug.helper " in command(one)]
            up = [node.helper for node in client.tables["nodes"].values()] == ["up"]
            return up and found != [] and helper.pid not in found

        # It is back sooner than the hub has noticed that it was away.
        while time.monotonic() < began + 1.5 or not another():
            assert await session.value("1 + 1", frame_id) == "2"
            seen.add((session.row.state, session.row.lost_ns, session.row.keeper, session.row.note))
            assert time.monotonic() < began + PATIENCE
            await asyncio.sleep(0.05)
        assert seen == {("stopped", None, True, None)}


async def test_the_keeper_is_killed(cluster: RayCluster, driver: Job) -> None:
    """Its sockets go with it, so its workers go on, at their full speed; and the page says why."""
    first = rounds(driver)[0]
    async with live(cluster) as client:
        session = await stopped_session(client)
        thread = await session.stopped(STOP)
        await session.value("setattr(self, 'hold', False)", (await session.look(thread))[0])
        before = len(rounds(driver))
        process_of(cluster, "raydebug.helper.keeper").kill()
        row = await session.until(lambda row: row.state == "ended" and row)
        assert "keeper" in (row.note or "")
        await driver.said(f'"round": {before},')
        after = rounds(driver)[before]
        assert max(after[name] / first[name] for name in first) < 2.5
        # With the next keeper all is as before.
        session, thread = await attached(client, SPEEDS, "stop")
        assert session.row.keeper
        assert await session.value("self.hold", (await session.look(thread))[0]) == "True"


async def test_nobody_comes_back(cluster: RayCluster, driver: Job) -> None:
    """The last of this module: Ray's dashboard stands still, so nothing brings the hub back."""
    first = rounds(driver)[0]
    async with live(cluster) as client:
        session = await stopped_session(client)
        thread = await session.stopped(STOP)
        await session.value("setattr(self, 'hold', False)", (await session.look(thread))[0])
        await asyncio.sleep(0.5)  # what the keeper is told is gathered
    before = len(rounds(driver))
    hub = api.hub_pid(cluster.url)
    (dashboard,) = [one for one in cluster.processes() if "dashboard/dashboard.py" in command(one)]
    dashboard.suspend()
    os.kill(hub, signal.SIGKILL)
    began = time.monotonic()
    await asyncio.sleep(LEASE_S - 2)
    assert len(rounds(driver)) == before, "released too early"
    await driver.said(f'"round": {before},')
    print(f"released {time.monotonic() - began:.1f} s after the hub's end")
    after = rounds(driver)[before]
    ratios = {name: after[name] / first[name] for name in first}
    print("speeds after the lease: " + ", ".join(f"{name} x {ratio:.2f}" for name, ratio in ratios.items()))
    assert max(ratios.values()) < 2.5
