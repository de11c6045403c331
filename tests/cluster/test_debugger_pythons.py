"""What differs from Python to Python: what the debugger leaves behind, and the scene of a crash.

``scripts/test-full pythons`` runs this with each of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raydebug.api.debug import DebugThread
from tests.support import api
from tests.support.cluster import RayCluster
from tests.support.debugging import PATIENCE, Debugged, Job, at_breakpoint, attached, debug_cluster, job, live, refused

JOBS = Path(__file__).parent / "jobs"
SPEEDS, CRASHES = JOBS / "speeds.py", JOBS / "crashes.py"
SLOWER = 2.5
"""Left traced, a thread is 3.5 to 20 times slower."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster() as started:
        yield started


async def rounds(driver: Job, number: int) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((await driver.said(f'ROUND {{"round": {number},')).removeprefix("ROUND "))
    return told


async def test_it_leaves_no_trace(cluster: RayCluster) -> None:
    stop, marked = at_breakpoint(SPEEDS, "stop"), api.line_of(SPEEDS, "marked")
    with job(cluster, SPEEDS) as driver:
        before = (await rounds(driver, 0))["speeds"]

        async def measured(number: int, when: str) -> None:
            after = (await rounds(driver, number))["speeds"]
            ratios = {thread: after[thread] / before[thread] for thread in before}
            shown = ", ".join(f"{thread} x {ratio:.2f}" for thread, ratio in ratios.items())
            print(f"Python {sys.version.split()[0]}, {when}: {shown}")
            assert max(ratios.values()) < SLOWER, (when, ratios)

        async with live(cluster) as client:
            session, thread = await attached(client, SPEEDS, "stop")

            async def let_go(thread: DebugThread) -> None:
                await session("continue", threadId=thread.threadId)
                await session.running()
                await session.value("setattr(self, 'hold', False)")

            # breakpoint() turns tracing on in all threads each time, so one continue isn't enough of a proof.
            for number in (1, 2):
                await let_go(thread)
                thread = await session.stopped(stop, after=thread.stop)
                await measured(number, f"continued {number}")
            # What is set while the worker runs, free of tracing, hits in threads of every kind.
            await session("continue", threadId=thread.threadId)
            await session.running()
            assert not session.row.tracing
            wanted = [{"line": marked}]
            told = await session("setBreakpoints", path=str(SPEEDS), breakpoints=wanted)
            assert told["breakpoints"][0]["verified"]
            assert session.row.tracing
            await session.value("setattr(self, 'hold', False)")
            names = {}
            for _ in range(4):
                thread = await session.stopped(marked, after=thread.stop, task=False)
                names[thread.threadId] = thread.name
                await session("continue", threadId=thread.threadId)
            assert {"old", "MainThread"} < set(names.values()), names
            assert len(names) == 4
            thread = await session.stopped(stop, after=thread.stop)
            # Taken back, it leaves nothing.
            await session("setBreakpoints", path=str(SPEEDS), breakpoints=[])
            await let_go(thread)
            thread = await session.stopped(stop, after=thread.stop)
            await measured(4, "breakpoint taken back")
            await session("next", threadId=thread.threadId)
            thread = await session.stopped(after=thread.stop)
            await session.value("setattr(self, 'hold', False)")
            await session("detach")
            await measured(5, "detached after a step")


CRASHED = {
    "sync": ("deeper", ["deeper", "step"]),
    "async": ("step", ["step"]),
    "task": ("task", ["task"]),
}


@pytest.fixture(scope="module")
def crashes(cluster: RayCluster) -> Iterator[Job]:
    with job(cluster, CRASHES) as driver:
        yield driver


@pytest.mark.parametrize("kind", CRASHED)
async def test_the_scene_of_a_crash(kind: str, cluster: RayCluster, crashes: Job) -> None:
    line = api.line_of(CRASHES, kind)
    function, stack = CRASHED[kind]
    async with live(cluster) as client:

        def crashed() -> str | None:
            sites = client.tables["paused"].values()
            found = next((one for one in sites if (one.kind, one.line) == ("exception", line)), None)
            return None if found is None else str(found.members[0].worker_id)

        session = Debugged(client, await client.until(crashed, PATIENCE))
        await session("attach")
        thread = await session.stopped(line)
        assert (thread.file, thread.line, thread.reason) == (str(CRASHES), line, "exception")
        assert thread.function is not None
        assert thread.function.rpartition(".")[2] == function
        seen = await session("look", threadId=thread.threadId)
        mine = [one for one in seen["frames"] if one["path"] == str(CRASHES)]
        named = [one["name"].rpartition(".")[2] for one in mine if "Chained Exc" not in one["name"]]
        assert named == stack
        assert seen["frame_id"] == mine[0]["id"]
        variables = {one["name"]: one["value"] for one in seen["variables"]["variables"]}
        assert (variables["secret"], variables["value"]) == ("42", "7")
        assert (seen["exception"]["type"], seen["exception"]["message"]) == ("ValueError", "bad value 7")
        about = await session("exceptionInfo", threadId=thread.threadId)
        assert f"# {kind}" in about["traceback"]
        assert await session.value("secret + value", mine[0]["id"]) == "49"
        if kind == "sync":
            assert "KeyError" in about["cause"]
            outer = await session("look", threadId=thread.threadId, frameId=mine[1]["id"])
            names = {one["name"]: one["value"] for one in outer["variables"]["variables"]}
            assert names["label"] == "'in step'"
            assert await session.value("self.state['step'] + value", mine[1]["id"]) == "10"
            completed = await session("completions", text="sec", column=4, frameId=mine[0]["id"])
            assert [one["label"] for one in completed["targets"]] == ["secret"]
        for command in ("next", "stepIn", "stepOut"):
            # It would let the task go, and its failure on.
            assert await refused(session(command, threadId=thread.threadId)) == "failed"
        assert await refused(session("runTo", threadId=thread.threadId, path=str(CRASHES), line=line)) == "failed"
        await session.until(lambda row: [one.unwound for one in row.threads if one.state == "stopped"] == [True])
        await session("continue", threadId=thread.threadId)
        assert "ValueError: bad value 7" in await crashes.said(f"{kind} failed:")
