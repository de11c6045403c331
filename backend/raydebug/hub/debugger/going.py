"""Letting threads go and making them stop: continue, steps, pause, and what tracing costs meanwhile.

A thread that goes on with no line breakpoint set is freed of tracing first (on Python 3.10 and 3.11 it would stay 8
times slower for the rest of its life); tracing is brought back before anything is set that needs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from raydebug.dap import bodies
from raydebug.hub.debugger import lines, tracing
from raydebug.hub.debugger.answers import Beside, as_told
from raydebug.hub.debugger.arguments import Going, OfFrame, Pausing, ToLine, take
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.session import Session
from raydebug.hub.debugger.threads import Thread

LEAVES_S: Final = 5.0
POLL_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)


@dataclass(frozen=True)
class Claim:
    """A thread that is told to go on: until it stops again nobody else tells or asks it anything."""

    thread: Thread
    frame_id: int
    stop: int

    def told(self) -> None:
        """It has taken the order. Should it stand there all the same, it can be told again."""
        asyncio.get_running_loop().call_later(LEAVES_S, self.give_up)

    def give_up(self) -> None:
        """It doesn't go on after all."""
        if self.thread.stop == self.stop:
            self.thread.leaving = False


async def known(thread: Thread) -> None:
    """Wait, for a moment, until it is known where a thread stands that has just stopped."""
    for _ in range(200):
        # Of an exception it takes a moment longer to know whether its task has failed of it.
        looking = thread.arriving and thread.reason == "exception"
        if not thread.stopped or thread.leaving or (thread.frames and not looking):
            break
        await asyncio.sleep(0.005)


def thread_of_frame(session: Session, frame_id: int) -> Thread:
    """Raises DebugError if it went on."""
    for thread in session.threads.values():
        if thread.stopped and any(frame.id == frame_id for frame in thread.frames):
            return thread
    raise DebugError("gone", "This frame's thread went on.")


def claim(session: Session, thread: Thread) -> Claim:
    """Raises DebugError if it isn't stopped, or somebody else was first."""
    claimed = Claim(thread, session.place(thread), thread.stop)
    thread.leaving = True
    return claimed


@contextlib.asynccontextmanager
async def leaving(session: Session, thread: Thread) -> AsyncIterator[Claim]:
    """A claim, given up if what is done meanwhile fails. Raises DebugError for a task that has failed: a step would
    let it go, for good."""
    await known(thread)
    if thread.unwound or thread.rebuilt:
        text = "This task has failed: its exception has left these frames, and there is nothing to step through."
        raise DebugError("failed", text, "Continue lets it go, and the failure on to its caller.")
    claimed = claim(session, thread)
    try:
        yield claimed
    except BaseException:
        claimed.give_up()
        raise
    claimed.told()


async def resume(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Continue one thread, or all that are stopped."""
    asked = take(Going, arguments)
    thread = session.thread(asked.thread_id)
    for one in list(session.threads.values()) if asked.all else [thread]:
        await known(one)
    if not asked.all:
        await let_go(session, [claim(session, thread)])
        return {}
    claims: list[Claim] = []
    refusal: DebugError | None = None
    for one in session.threads.values():
        try:
            if one.stopped and not one.leaving:
                claims.append(claim(session, one))
        except DebugError as error:  # one that still evaluates keeps no other from going on
            refusal = error
    await let_go(session, claims)
    if refusal is not None:
        raise refusal
    return {}


async def let_go(session: Session, claims: list[Claim]) -> None:
    """In each stopped thread: forget what was shown of it, take tracing away if nothing needs it, and go on."""
    if not claims:
        return
    free = not session.breakpoints.need_tracing
    threads = [one.thread for one in claims]
    others = [one for one in session.threads.values() if one.stopped and one not in threads]
    try:
        if free:
            session.armed = False
        if free and session.tracing and not others:
            # Before any goes on: its next breakpoint() may come at once.
            session.tracing = bool((await session.probe("free_all")).get("kept"))
            session.changed()
    except BaseException:
        for one in claims:
            one.give_up()
        raise
    asked = [asyncio.ensure_future(session.probe("go_on", one.frame_id, free=free)) for one in claims]
    failed: list[BaseException] = []
    for one, outcome in zip(claims, await asyncio.gather(*asked, return_exceptions=True), strict=True):
        if isinstance(outcome, BaseException):
            one.give_up()
            failed.append(outcome)
        else:
            one.told()
    if failed:
        raise failed[0]


def step(command: str) -> Any:
    async def run(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked = take(Going, arguments)
        thread = session.thread(asked.thread_id)
        more = {"targetId": asked.target_id} if asked.target_id is not None and command == "stepIn" else {}
        async with leaving(session, thread) as claimed:
            await session.probe("forget", claimed.frame_id, thread="this")
            if not session.armed:
                await tracing.arm(session)
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
    if not session.armed:
        await tracing.arm(session)  # a thread that was freed is deaf
    session.pausing = True
    await session.probe("suspend", thread_id=number)
    return {}


async def run_to(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    asked = take(ToLine, arguments)
    thread = session.thread(asked.thread_id)
    points = session.breakpoints
    async with leaving(session, thread) as claimed:
        if problem := (await lines.check_file(session, asked.path)).problem_at(asked.line):
            raise DebugError("failed", problem)
        points.run_to = (asked.path, asked.line)
        await tracing.arm_if_needed(session)
        made = await lines.set_lines(session, asked.path)
        if not made or not made[-1].verified:
            points.run_to = None
            await lines.set_lines(session, asked.path)
            raise DebugError("failed", (made[-1].message if made else None) or f"No code is at line {asked.line}.")
        await let_go(session, [claimed])
    return {}


async def goto(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Set the next statement."""
    asked = take(ToLine, arguments)
    thread = session.thread(asked.thread_id)
    async with leaving(session, thread) as claimed:
        innermost = next((frame for frame in thread.frames if not frame.rebuilt), None)
        if innermost is None or innermost.path != asked.path:
            # debugpy takes the line for one of the file in which the thread stands, whatever file is named.
            where = innermost.path if innermost else "nowhere"
            raise DebugError("failed", f"{thread.name} stands in {where}: only lines of its function can be gone to.")
        told = await session.told(bodies.Targets, "gotoTargets", source={"path": asked.path}, line=asked.line)
        if not told.targets:
            raise DebugError("failed", f"Line {asked.line} can't be gone to.")
        await session.probe("forget", claimed.frame_id, thread="this")
        await move(session, "goto", threadId=thread.id, targetId=told.targets[0].id)
    return {}


async def step_in_targets(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    frame_id = take(OfFrame, arguments).frame_id
    thread = thread_of_frame(session, frame_id)
    # Debugpy would have a thread that goes on answer at its next stop.
    session.place(thread)
    if any(frame.rebuilt and frame.id == frame_id for frame in thread.frames):
        raise DebugError("failed", "The exception has unwound this stack: there is nothing to step into.")
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
        if thread.stopped and not thread.leaving and thread.busy is None and thread.native is not None:
            await session.probe("free_this_thread", thread)
    await session.request("disconnect", terminateDebuggee=False)
