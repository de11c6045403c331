"""What ends while it stands still, what never comes back, and a worker that somebody else has attached to."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from raydebug.cli.live import Live
from raydebug.hub.debugger.session import ANSWER_S
from raydebug.ray_compat import Gcs
from tests.support import api
from tests.support.cluster import RayCluster
from tests.support.dap_client import DapClient
from tests.support.debugging import (
    PATIENCE,
    Debugged,
    at_breakpoint,
    attached,
    debug_cluster,
    job,
    live,
    paused_at,
    places,
    refused,
)

ENDS = Path(__file__).parent / "jobs" / "ends.py"
TRUE_PICTURE_S = 3.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster() as started:
        yield started


async def ended(client: Live, session: Debugged, mark: str, since: float) -> None:
    """Its end is told, with the reason, and its place is gone."""
    await session.until(lambda row: row.state == "ended")
    told = time.monotonic() - since
    line = api.line_of(ENDS, mark)
    await client.until(lambda: places(client, ENDS, line) is None, PATIENCE)
    gone = time.monotonic() - since
    print(f"{mark}: ended after {told:.2f} s, its place gone after {gone:.2f} s: {session.row.note}")
    assert session.row.note
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert gone < TRUE_PICTURE_S * busy
    assert await refused(session("evaluate", expression="1")) == "not_attached"


async def test_workers_that_end_while_they_stand(cluster: RayCluster, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with job(cluster, ENDS, str(go)) as driver:
        async with live(cluster) as client:
            sessions = {mark: (await attached(client, ENDS, mark))[0] for mark in ("killed", "crashed", "orphan")}
            since = time.monotonic()
            go.touch()
            await ended(client, sessions["killed"], "killed", since)
            since = time.monotonic()
            os.kill(sessions["crashed"].row.pid, signal.SIGKILL)
            await ended(client, sessions["crashed"], "crashed", since)
            since = time.monotonic()
            driver.process.kill()
            await ended(client, sessions["orphan"], "orphan", since)


async def test_a_driver_that_ends_while_it_stands(cluster: RayCluster) -> None:
    with job(cluster, ENDS, "driver") as driver:
        async with live(cluster) as client:
            session, _ = await attached(client, ENDS, "driver", task=False)
            since = time.monotonic()
            driver.process.kill()
            await ended(client, session, "driver", since)


async def test_an_evaluation_that_never_returns(cluster: RayCluster) -> None:
    """It is shown; what isn't on its thread goes on; what is, is refused at once; and its end is told."""
    with job(cluster, ENDS, "stuck") as driver:
        async with live(cluster) as client:
            session, one = await attached(client, ENDS, "one")
            other = await session.stopped(at_breakpoint(ENDS, "other"))
            frame_id, _ = await session.look(one)
            expression = "self.lock.acquire() and 'acquired'"
            began = time.monotonic()
            inside = asyncio.ensure_future(session("evaluate", expression=expression, frameId=frame_id, context="repl"))
            beside = asyncio.ensure_future(session("evaluate", expression=expression, context="repl"))
            await session.until(lambda row: len(row.evaluations) == 2)
            await asyncio.sleep(1.5)
            # Meanwhile:
            asked = time.monotonic()
            assert (await session.look(other))[1]["number"] == "2"
            assert await session.value("number + 1", (await session.look(other))[0]) == "3"
            assert await session.value("6 * 7") == "42"
            assert await refused(session("look", threadId=one.threadId)) == "busy"
            assert await refused(session("next", threadId=one.threadId)) == "busy"
            assert await refused(session("continue", threadId=one.threadId)) == "busy"
            assert time.monotonic() - asked < 5
            assert not inside.done()
            told = await asyncio.gather(inside, beside)
            waited = time.monotonic() - began
            assert [one["waiting"] for one in told] == [True, True]
            assert ANSWER_S <= waited < ANSWER_S + 10
            busy = next(thread for thread in session.row.threads if thread.threadId == one.threadId)
            assert busy.busy == told[0]["evaluation"]
            # Others go on, even with "all".
            await refused(session("continue", threadId=other.threadId, all=True))
            await session.running(other)
            # It comes back in the end.
            for _ in range(2):
                await session.value("self.lock.release()")
                await asyncio.sleep(0.2)
            entries = [await session.says("result", "acquired") for _ in (1, 2)]
            assert entries
            await session.until(lambda row: not row.evaluations)
            thread = await session.stopped(at_breakpoint(ENDS, "one"))
            assert thread.busy is None
            await session("continue", threadId=thread.threadId)
            assert "[1, 2]" in await driver.said("GAVE")


async def test_somebody_else_is_attached_already(cluster: RayCluster) -> None:
    with job(cluster, ENDS, "held"):
        async with live(cluster) as client:
            member = await paused_at(client, ENDS, "held")
            session = Debugged(client, member.worker_id)
            gcs = Gcs(cluster.address)
            try:
                found = await gcs.debuggee(member.worker_id)
            finally:
                await gcs.close()
            assert found is not None
            async with await DapClient.connect(found.ip, found.port) as ide:
                await ide.attach()
                await ide.stopped()
                assert await refused(session("attach")) == "held"
                row = await session.until(lambda row: row.state == "failed" and row)
                assert row.held_by
                assert f"pid {os.getpid()}" in row.held_by
                assert row.held_by in (row.note or "")
                end = session.row.messages_end
                await session.until(lambda row: row.messages_end > end)  # tried again
            thread = await session.stopped(at_breakpoint(ENDS, "held"))
            assert session.row.held_by is None
            assert int((await session.look(thread))[1]["turns"]) > 1
            await session("detach")


async def test_a_node_that_is_lost(cluster: RayCluster) -> None:
    node = cluster.add_node('--resources={"far": 1}')
    with job(cluster, ENDS, "far"):
        async with live(cluster) as client:
            session, _ = await attached(client, ENDS, "far")
            for process in psutil.Process(node.pid).children(recursive=True):
                process.kill()
            node.kill()
            since = time.monotonic()
            await session.until(lambda row: row.lost_ns is not None or row.state == "ended")
            print(f"a node lost: told after {time.monotonic() - since:.2f} s: {session.row.note}")
            assert session.row.note
            busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
            assert time.monotonic() - since < TRUE_PICTURE_S * busy
            await session.until(lambda row: row.state == "ended", 60)
            print(f"a node lost: ended after {time.monotonic() - since:.2f} s: {session.row.note}")
            line = api.line_of(ENDS, "far")
            await client.until(lambda: places(client, ENDS, line) is None, PATIENCE)
