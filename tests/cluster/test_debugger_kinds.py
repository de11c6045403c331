"""The debugger in every kind of code that Ray runs, its threads, and many places at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from raydebug.api.paused import PausedSite
from tests.support import api
from tests.support.cluster import RayCluster
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
)

JOBS = Path(__file__).parent / "jobs"
KINDS, MANY = JOBS / "kinds.py", JOBS / "many.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster() as started, job(started, KINDS), job(started, KINDS, "detached"):
        yield started


@pytest.mark.parametrize("kind", ["sync", "first", "io", "async", "generator", "init", "task", "detached", "driver"])
async def test_every_kind_of_code_is_debugged(kind: str, cluster: RayCluster) -> None:
    """Attached once: the place, its locals, its task; the next ``breakpoint()`` stops with no new attach."""
    line = api.line_of(KINDS, kind)
    async with live(cluster) as client:
        await paused_at(client, KINDS, kind, timeout=120)
        unattached = places(client, KINDS, line)
        session, thread = await attached(client, KINDS, kind, task=kind != "driver")

        def taken() -> PausedSite | None:
            site = places(client, KINDS, line)
            return site if site is not None and all(member.attached for member in site.members) else None

        site = await client.until(taken, PATIENCE)
        assert unattached is not None
        assert site.site_id == unattached.site_id
        for number in ("41", "42"):
            frame_id, variables = await session.look(thread)
            assert variables["number"] == number
            assert variables["mine"] == repr(thread.task_id), "the task's id is exact"
            assert await session.value("number * 2", frame_id) == str(2 * int(number))
            stack = await session("stackTrace", threadId=thread.threadId)
            top = next(frame for frame in stack["stackFrames"] if not frame["subtle"])
            assert (top["path"], top["line"]) == (str(KINDS), thread.line)
            if kind == "async":
                tasks = (await session("asyncTasks"))["tasks"]
                waits = api.line_of(KINDS, "waits")
                assert ("waiting", str(KINDS), waits) in [(one["state"], one["file"], one["line"]) for one in tasks]
                current = [
                    (one["coroutine"].rpartition(".")[2], one["line"]) for one in tasks if one["state"] == "current"
                ]
                assert current == [("work", thread.line)]
            if number == "41":
                thread = await session.go_on(thread, line=at_breakpoint(KINDS, kind), task=kind != "driver")
        assert session.row.keeper
        assert session.row.worker_type == ("driver" if kind == "driver" else "worker")


async def test_threads_stop_and_go_on_apart_from_each_other(cluster: RayCluster) -> None:
    first_line, second_line = at_breakpoint(KINDS, "first"), at_breakpoint(KINDS, "second")
    async with live(cluster) as client:
        session, second = await attached(client, KINDS, "second")
        first = await session.stopped(first_line)
        assert first.task_id != second.task_id
        # One goes on and comes back; the other stands where it stood.
        again = await session.go_on(first, line=first_line)
        assert again.threadId == first.threadId
        still = next(thread for thread in session.row.threads if thread.threadId == second.threadId)
        assert (still.state, still.stop) == ("stopped", second.stop)
        frame_id, _ = await session.look(second)
        assert await session.value("number", frame_id) == "41"
        # One that runs is paused alone, and goes on.
        turning = next(thread for thread in session.row.threads if thread.name == "turning")
        assert turning.state == "running"
        before = session.last_stop
        await session("pause", threadId=turning.threadId)
        paused = await session.stopped(after=before)
        assert paused.threadId == turning.threadId
        # All go on at once, and both come back to their places.
        before = session.last_stop
        await session("continue", threadId=first.threadId, all=True)
        both = [await session.stopped(line, after=before) for line in (first_line, second_line)]
        assert {thread.threadId for thread in both} == {first.threadId, second.threadId}
        await session.running(paused)


async def test_64_places_at_once(cluster: RayCluster) -> None:
    line = api.line_of(MANY, "many")
    with job(cluster, MANY) as driver:
        async with live(cluster) as client:

            def all_there() -> PausedSite | None:
                site = places(client, MANY, line)
                return site if site is not None and len(site.members) == 64 else None

            site = await client.until(all_there, 120)
            began = time.monotonic()
            sessions = [Debugged(client, worker_id) for worker_id in {one.worker_id for one in site.members}]
            assert len(sessions) == 4
            await asyncio.gather(*(session("attach") for session in sessions))

            def all_stopped() -> bool:
                stopped = [
                    thread
                    for session in sessions
                    for thread in session.row.threads
                    if thread.state == "stopped" and thread.line in (line, line + 1) and thread.task_id is not None
                ]
                return len({thread.task_id for thread in stopped}) == 64

            await client.until(all_stopped, PATIENCE)
            shown = time.monotonic()

            def all_taken() -> bool:
                site = all_there()
                return site is not None and all(member.attached for member in site.members)

            await client.until(all_taken, PATIENCE)
            one = next(thread for thread in sessions[0].row.threads if thread.state == "stopped")
            assert "number" in (await sessions[0].look(one))[1]
            going = time.monotonic()
            for session in sessions:
                await session("continue", threadId=session.row.threads[0].threadId, all=True)
            await driver.said(str(4 * sum(range(16))))
            gone = time.monotonic() - going
            print(f"64 places: attached and shown in {shown - began:.2f} s, gone on in {gone:.2f} s")
            await client.until(lambda: places(client, MANY, line) is None, PATIENCE)
