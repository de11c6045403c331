"""Letting threads go and making them stop: continue, steps, pause, and what tracing costs meanwhile.

A thread that goes on with no line breakpoint set is freed of tracing first (on Python 3.10 and 3.11 it would stay 8
times slower for the rest of its life); tracing is brought back before anything is set that needs it.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Final

from raydebug.dap import bodies
from raydebug.hub.debugger.answers import Beside, as_told
from raydebug.hub.debugger.arguments import Going, OfFrame, Pausing, ToLine, take
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.session import Session
from raydebug.hub.debugger.threads import Thread

POLL_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)


async def arm_if_needed(session: Session) -> None:
    if session.breakpoints.need_tracing and not session.tracing:
        await arm(session)


async def arm(session: Session) -> None:
    await session.probe("arm")
    session.tracing = True
    session.changed()


async def resume(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Continue one thread, or all that are stopped."""
    asked = take(Going, arguments)
    thread = session.thread(asked.thread_id)
    going = [one for one in session.threads.values() if one.stopped] if asked.all else [thread]
    if not thread.stopped and not asked.all:
        raise DebugError("running", f"{thread.name or 'The thread'} isn't stopped.")
    await let_go(session, going)
    return {}


async def let_go(session: Session, threads: list[Thread]) -> None:
    """In each stopped thread: forget what was shown of it, take tracing away if nothing needs it, and go on."""
    free = not session.breakpoints.need_tracing
    others = [one for one in session.threads.values() if one.stopped and one not in threads]
    if free and session.tracing and not others:
        # Before any goes on: its next breakpoint() may come at once.
        session.tracing = bool((await session.probe("free_all")).get("kept"))
        session.changed()
    asked = [asyncio.ensure_future(session.probe("go_on", thread, free=free)) for thread in threads]
    # One that still evaluates keeps no other from going on.
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def step(command: str) -> Any:
    async def run(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked = take(Going, arguments)
        thread = session.thread(asked.thread_id)
        session.place(thread)
        if thread.rebuilt:
            raise DebugError("failed", "The exception has unwound this stack: there is nothing to step through.")
        await session.probe("forget", thread, thread="this")
        if not session.tracing:
            await arm(session)
        more = {"targetId": asked.target_id} if asked.target_id is not None and command == "stepIn" else {}
        await move(session, command, threadId=thread.id, **more)
        return {}

    return run


async def move(session: Session, command: str, **arguments: Any) -> None:
    """pydevd, having taken an order, looks at it only 0.2 s later; waking its thread makes a step take 3 ms."""
    moving = asyncio.ensure_future(session.request(command, **arguments))
    waking = asyncio.ensure_future(session.probe("wake"))
    done = await asyncio.gather(moving, waking, return_exceptions=True)
    if isinstance(done[0], BaseException):
        raise done[0]


async def pause(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One thread, or all."""
    number = take(Pausing, arguments).thread_id
    if number is not None:
        session.thread(number)
    if not session.tracing:
        await arm(session)  # a thread that was freed is deaf
    await session.probe("suspend", thread_id=number)
    return {}


async def run_to(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    asked = take(ToLine, arguments)
    thread = session.thread(asked.thread_id)
    session.place(thread)
    points = session.breakpoints
    points.run_to = (asked.path, asked.line)
    await arm_if_needed(session)
    made = await session.set_lines(asked.path)
    if not made or not made[-1].verified:
        points.run_to = None
        await session.set_lines(asked.path)
        raise DebugError("failed", (made[-1].message if made else None) or f"No code is at line {asked.line}.")
    await let_go(session, [thread])
    return {}


async def goto(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Set the next statement."""
    asked = take(ToLine, arguments)
    thread = session.thread(asked.thread_id)
    session.place(thread)
    innermost = next((frame for frame in thread.frames if not frame.rebuilt), None)
    if innermost is None or innermost.path != asked.path:
        # debugpy takes the line for one of the file in which the thread stands, whatever file is named.
        where = innermost.path if innermost else "nowhere"
        raise DebugError("failed", f"{thread.name} stands in {where}: only lines of its function can be gone to.")
    told = await session.told(bodies.Targets, "gotoTargets", source={"path": asked.path}, line=asked.line)
    if not told.targets:
        raise DebugError("failed", f"Line {asked.line} can't be gone to.")
    await session.probe("forget", thread, thread="this")
    await move(session, "goto", threadId=thread.id, targetId=told.targets[0].id)
    return {}


async def step_in_targets(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    frame_id = take(OfFrame, arguments).frame_id
    return {"targets": (await session.told(bodies.Targets, "stepInTargets", frameId=frame_id)).targets[:100]}


async def run_beside(session: Session, expression: str, **style: bool) -> Any:
    """Evaluate in a worker that runs, on a thread of its own there: debugpy's would be lost to one that never ends."""
    told = as_told(Beside, await session.probe("start", expression=expression, **style))
    for attempt in itertools.count():
        if told.error is not None:
            raise DebugError("failed", f"{told.type}: {told.message}", told.error)
        if told.ticket is None:
            break
        await asyncio.sleep(POLL_S[min(attempt, len(POLL_S) - 1)])
        told = as_told(Beside, await session.probe("poll", ticket=told.ticket))
    return told.value


async def leave(session: Session) -> None:
    """Detach: everything goes on, at its own speed."""
    await session.probe("forget")
    await session.probe("free_all", stepping=True)
    for thread in session.threads.values():
        if thread.stopped and thread.busy is None and thread.native is not None:
            await session.probe("free_this_thread", thread)
    await session.request("disconnect", terminateDebuggee=False)
