"""Several viewers command the same thread at the same moment: each is told a result, or why not."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from raydebug.api.debug import DebugThread
from raydebug.cli.live import LiveError
from tests.support.cluster import RayCluster
from tests.support.debugging import Debugged, at_breakpoint, attached, debug_cluster, job, live

ROUNDS = Path(__file__).parent / "jobs" / "rounds.py"
GOING, ASKING = ["next", "stepIn", "stepOut", "continue"], ["evaluate", "look", "stackTrace"]
OUTCOMES = {"done", "running", "busy", "gone"}
TIMES = 100


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster() as started, job(started, ROUNDS):
        yield started


async def outcome(session: Debugged, command: str, thread: DebugThread) -> str:
    """``done``, or the code of the refusal."""
    began = time.monotonic()
    try:
        if command == "evaluate":
            frame_id, _ = await session.look(thread)
            told = await session(command, expression="41 + 1", frameId=frame_id)
            assert not told.get("waiting"), told
            assert told["result"] == "42", told
        else:
            await session(command, threadId=thread.threadId)
        found = "done"
    except LiveError as error:
        found = error.body.code if error.body.code in OUTCOMES else f"{error.body.code}: {error.body.message}"
    assert time.monotonic() - began < 9, f"{command} took as long as one waits for what hangs"
    return found


async def test_two_viewers_step_at_the_same_time(cluster: RayCluster) -> None:
    pick = random.Random(5)
    seen: dict[tuple[str, str], int] = {}
    async with live(cluster) as first, live(cluster) as second:
        session, thread = await attached(first, ROUNDS, "gate")
        await session("setExceptionBreakpoints", filters=[])
        viewers = [session, Debugged(second, session.worker_id)]
        for _ in range(TIMES):
            asked = [pick.choice(GOING), pick.choice(GOING + ASKING), *pick.sample(ASKING, 2)]
            pick.shuffle(asked)
            before = session.last_stop
            found = await asyncio.gather(*(outcome(viewers[at % 2], one, thread) for at, one in enumerate(asked)))
            assert set(found) <= OUTCOMES, list(zip(asked, found, strict=True))
            for one in zip(asked, found, strict=True):
                seen[one] = seen.get(one, 0) + 1
            went = any(code == "done" for command, code in zip(asked, found, strict=True) if command in GOING)
            thread = await session.stopped(after=before if went else 0, task=False)
        print(dict(sorted(seen.items())))
        assert sum(count for (command, code), count in seen.items() if command in GOING and code == "done") >= TIMES / 2
        # All is as ever: it stops where it should, and tells.
        thread = await came_back(session, thread)
        while thread.line not in at_breakpoint(ROUNDS, "gate") or thread.file != str(ROUNDS):
            thread = await session.go_on(thread)
        thread = await session.step("next", thread)
        _, values = await session.look(thread)
        assert values["number"].isdigit(), (thread, values)


async def came_back(session: Debugged, thread: DebugThread) -> DebugThread:
    """Once nothing that was asked is under way."""
    while True:
        try:
            await session.look(thread)
            return thread
        except LiveError:
            thread = await session.stopped(after=thread.stop, task=False)
