"""How sessions are left: detached, closed, or when no hub comes back. Real keeper, real debugpy, no Ray."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import pytest

from raydebug.hub.access.errors import AccessError
from tests.support.keeper import DEBUGGEE, Agent, Desk, debuggee, desk, raw_hub, until

WORKER = "cd" * 28
QUIET_S = 0.7
"""So long nothing may happen where nothing should."""


async def test_the_will_is_carried_out_when_no_hub_comes(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port):
        async with desk(tmp_path, node, {WORKER: port}, lease_s=1.0) as first:
            await first(WORKER, "attach")
            await first.stopped(WORKER)
            await asyncio.sleep(QUIET_S)
        await asyncio.sleep(0.5)
        assert child.rounds() == 0  # the lease begins when the hub has gone
        assert not (await child.hear("went_on", 1, timeout=15))["traced"]
        await child.hear("waits", 2)  # for a client: nobody is attached any more
        async with raw_hub(node) as hub:
            assert "no hub came" in (hub.kept[WORKER].ended or "")
        async with desk(tmp_path, node, {WORKER: port}) as second:
            row = await second.state(WORKER, "ended")
            assert "no hub came" in (row.note or "")
            await second(WORKER, "attach")
            await second.stopped(WORKER)


async def test_a_hub_that_comes_back_in_time_keeps_the_session(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port):
        async with desk(tmp_path, node, {WORKER: port}, lease_s=1.5) as first:
            await first(WORKER, "attach")
            _, stop = await first.stopped(WORKER)
            await asyncio.sleep(0.3)
        async with desk(tmp_path, node, {}, lease_s=1.5) as second:
            await second.state(WORKER, "stopped")
            await asyncio.sleep(2.5)
            assert child.rounds() == 0
            assert (await second.stopped(WORKER))[1] == stop


async def test_detach_and_attach_at_once(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        for number in range(6):  # debugpy is wedged by a client that comes while it lets go of the one before
            await hub(WORKER, "attach")
            await hub.stopped(WORKER)
            await hub(WORKER, "detach")
            assert WORKER not in hub.broker.sessions
            await child.hear("went_on", number + 1)
        async with raw_hub(node) as raw:
            assert raw.kept == {}


@pytest.mark.parametrize("how", ["pause", "breakpoint"])
async def test_a_worker_that_was_left_is_armed_anew(node: Agent, tmp_path: Path, how: str) -> None:
    """Detaching takes tracing away, and a thread without it is deaf."""
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        await hub.stopped(WORKER)
        child.tell("rest")
        await child.hear("done", "rest")
        await hub(WORKER, "detach")
        await child.hear("went_on", 1)
        await hub(WORKER, "attach")
        await hub.state(WORKER, "running")
        if how == "pause":
            await hub(WORKER, "pause", threadId=None)
        else:
            line = line_of("# one turn")
            await hub(WORKER, "setBreakpoints", path=str(DEBUGGEE), breakpoints=[{"line": line}])
        await hub.stopped(WORKER)


async def test_what_is_printed_goes_to_the_programs_streams_alone_again(node: Agent, tmp_path: Path) -> None:
    """debugpy takes its own from in front of them at no time: it would queue up for nobody all that is printed."""
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        for number in range(2):
            await hub(WORKER, "attach")
            await hub.stopped(WORKER)
            child.tell("print it is heard")
            await until(
                lambda: any("it is heard" in one.text for one in hub.broker.sessions[WORKER].console.since(0, 99))
            )
            await hub(WORKER, "detach")
            await child.hear("went_on", number + 1)
            child.said.clear()
            child.tell("streams")
            assert await child.hear("stdout") == {"stdout": "TextIOWrapper", "stderr": "TextIOWrapper"}
            child.tell("flood 20000")
            await child.hear("done", "flood")


async def test_a_worker_that_runs_is_free_when_nothing_is_set(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        thread, _ = await hub.stopped(WORKER)
        child.tell("rest")
        await child.hear("done", "rest")
        await hub(WORKER, "continue", threadId=thread)
        await child.hear("went_on", 1)
        for command, some, none in (
            ("setFunctionBreakpoints", {"names": ["nowhere.never"]}, {"names": []}),
            ("setExceptionBreakpoints", {"filters": ["raised"]}, {"filters": []}),
            (
                "setBreakpoints",
                {"path": str(DEBUGGEE), "breakpoints": [{"line": line_of("# one turn"), "condition": "False"}]},
                {"path": str(DEBUGGEE), "breakpoints": []},
            ),
        ):
            await hub(WORKER, command, **some)
            await until(lambda: hub.rows[WORKER].tracing)
            await hub(WORKER, command, **none)
            await until(lambda: not hub.rows[WORKER].tracing)
        # Each thread loses it at its next call.
        session, deadline = hub.broker.sessions[WORKER], time.monotonic() + 15
        while (state := await session.probe("state"))["tracing"]:
            child.tell("streams")
            assert time.monotonic() < deadline, state


async def test_two_detach_at_once(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        for number in range(3):
            await hub(WORKER, "attach")
            await hub.stopped(WORKER)
            await asyncio.gather(hub(WORKER, "detach"), hub(WORKER, "detach"))
            assert WORKER not in hub.broker.sessions
            await child.hear("went_on", number + 1)


@pytest.mark.parametrize("command", ["next", "stepIn", "stepOut", "continue", "evaluate", "pause"])
async def test_left_in_the_midst_of_a_command(node: Agent, tmp_path: Path, command: str) -> None:
    """Whatever of the two comes first: the worker goes on, and its next breakpoint() can be attached to."""
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        for number in range(3):
            await hub(WORKER, "attach")
            thread, _ = await hub.stopped(WORKER)
            arguments: dict[str, Any] = {"expression": "len(items)"} if command == "evaluate" else {"threadId": thread}
            begun = asyncio.ensure_future(hub(WORKER, command, **arguments))
            await asyncio.sleep(0.005 * number)
            await hub(WORKER, "detach")
            await asyncio.wait({begun}, timeout=15)
            assert begun.done()
            begun.exception()  # refused or done, both are right
            await child.hear("went_on", number + 1)


async def test_a_session_isnt_left_while_its_thread_evaluates(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        thread, _ = await hub.stopped(WORKER)
        seen = await hub(WORKER, "look", threadId=thread)
        sleeps = "__import__('time').sleep(2)"
        running = asyncio.ensure_future(hub(WORKER, "evaluate", expression=sleeps, frameId=seen.frame_id))
        await asyncio.sleep(0.2)
        with pytest.raises(AccessError) as refused:
            await hub(WORKER, "detach")
        assert refused.value.body.code == "busy"
        await running
        await hub(WORKER, "detach")
        await child.hear("went_on", 1)


SLEEPS = "__import__('time').sleep(4)"


async def begin_sleeping(hub: Desk) -> asyncio.Future[Any]:
    """An evaluation that takes a while, on the stopped thread."""
    thread, _ = await hub.stopped(WORKER)
    seen = await hub(WORKER, "look", threadId=thread)
    running = asyncio.ensure_future(hub(WORKER, "evaluate", expression=SLEEPS, frameId=seen.frame_id))
    await until(lambda: hub.rows[WORKER].evaluations)
    await asyncio.sleep(0.5)  # it is noted, and on its way
    return running


async def test_the_will_waits_for_what_is_evaluated(node: Agent, tmp_path: Path) -> None:
    """Else debugpy's adapter would end, and the worker wait at its next breakpoint() for nobody."""
    async with debuggee() as (child, port):
        async with desk(tmp_path, node, {WORKER: port}, lease_s=0.5) as first:
            await first(WORKER, "attach")
            running = await begin_sleeping(first)
        running.cancel()
        await child.hear("waits", 2)
        async with desk(tmp_path, node, {WORKER: port}) as second:
            await second.state(WORKER, "ended")
            await second(WORKER, "attach")
            await second.stopped(WORKER)


async def test_a_hub_that_comes_while_the_will_waits_gets_the_session(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port):
        async with desk(tmp_path, node, {WORKER: port}, lease_s=0.5) as first:
            await first(WORKER, "attach")
            await first(WORKER, "setBreakpoints", path=str(DEBUGGEE), breakpoints=[{"line": line_of("say(waits")}])
            running = await begin_sleeping(first)
        running.cancel()
        await asyncio.sleep(1.5)  # the lease has ended
        async with desk(tmp_path, node, {WORKER: port}) as second:
            await second.state(WORKER, "stopped", "running")
            await child.hear("went_on", 1)
            _, stop = await second.stopped(WORKER)  # at the line, for which tracing has been brought back
            assert child.rounds() == 1
            assert not any(one.get("waits") == 2 for one in child.said), stop
        assert not any("no hub came" in (row.note or "") for row in second.rows.values())


@pytest.mark.parametrize("kept", [True, False], ids=["keeper", "no keeper"])
async def test_a_connection_is_closed_when_all_has_been_answered(node: Agent, tmp_path: Path, kept: bool) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node if kept else None, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        running = await begin_sleeping(hub)
        session = hub.broker.sessions[WORKER]
        assert session.channel is not None
        session.channel.close()
        session.channel = None
        await child.hear("went_on", 1)
        running.cancel()
        await child.hear("waits", 2)
        session.state = "ended"

        with contextlib.suppress(AccessError):  # held, at first: it is tried again
            await hub(WORKER, "attach")
        await hub.stopped(WORKER)


def line_of(text: str) -> int:
    lines = DEBUGGEE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


async def test_detached_while_the_keeper_couldnt_be_told(node: Agent, tmp_path: Path) -> None:
    """The session doesn't rise again when the keeper is back."""
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        await hub.stopped(WORKER)
        (link,) = hub.broker.keepers._links.values()
        link._ws = None  # the connection is lost, and nobody has noticed yet
        await hub(WORKER, "detach")
        assert WORKER not in hub.broker.sessions
        link._task.cancel()
        link._task = asyncio.ensure_future(link._run())
        await child.hear("went_on", 1)
        await asyncio.sleep(QUIET_S)
        assert WORKER not in hub.rows
