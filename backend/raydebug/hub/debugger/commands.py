"""The commands of a session, by name: what each takes, and what it asks of debugpy or of the probe."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from raydebug import probe
from raydebug.api.debug import (
    AsyncTask,
    Console,
    DapLog,
    Evaluated,
    Evaluation,
    ExceptionInfo,
    Frame,
    Look,
    SourceBreakpoint,
    SourceText,
    Variables,
)
from raydebug.dap.bodies import Completions, clipped
from raydebug.hub.debugger import going, lines, tracing
from raydebug.hub.debugger.answers import ExceptionTold, ModulesTold, ScopesTold, TasksTold, as_told, unpack
from raydebug.hub.debugger.arguments import (
    Completing,
    Expression,
    Filters,
    Levels,
    Lines,
    LookAt,
    Names,
    OfFrame,
    OfPath,
    OfThread,
    Page,
    Searching,
    Setting,
    Since,
    take,
)
from raydebug.hub.debugger.arriving import LEVELS
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.session import ANSWER_S, Session
from raydebug.hub.debugger.threads import Thread

FIRST_PAGE: Final = 200
MOST_CHILDREN: Final = 1000
MOST_FRAMES: Final = 10_000
MOST_ENTRIES: Final = 2000
MOST_EVALUATIONS: Final = 64
SLOW_S: Final = 0.1
MOST_BREAKPOINTS: Final = 500
_TYPE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

# Looking -----------------------------------------------------------------------------------------------------------


async def look(session: Session, who: str, arguments: dict[str, Any]) -> Look:
    asked = take(LookAt, arguments)
    thread = await known(session, asked.thread_id)
    frame_id = asked.frame_id
    if frame_id is None:
        top = thread.top()
        frame_id = top.id if top else None
    if frame_id is None:
        return Look(stop=thread.stop, frames=thread.frames, total_frames=0, frame_id=None, scopes=[], variables=None)
    asking = [
        session.probe("scopes", thread, frame=frame_id),
        session.probe("scope", thread, frame=frame_id, which="locals", start=0, count=FIRST_PAGE, **asked.style),
    ]
    if thread.reason == "exception":
        asking.append(session.probe("exception", thread))
    scopes, variables, *more = await asyncio.gather(*asking)
    own(session, thread, scopes, variables, *more)
    return Look(
        stop=thread.stop,
        frames=thread.frames if thread.rebuilt else thread.frames[:LEVELS],
        total_frames=thread.total_frames,
        frame_id=frame_id,
        scopes=as_told(ScopesTold, scopes).scopes,
        variables=as_told(Variables, variables),
        exception=exception_of(more[0]) if more and more[0] else None,
    )


async def known(session: Session, thread_id: int) -> Thread:
    """The thread, once it is known where it stands. Raises DebugError if it isn't stopped."""
    thread = session.thread(thread_id)
    await going.known(thread)
    session.place(thread)
    return thread


def own(session: Session, thread: Thread, *answers: Any) -> None:
    """Note to whom the references in the probe's answers belong."""
    for answer in answers:
        if isinstance(answer, dict):
            reference = answer.get("variablesReference")
            if isinstance(reference, int) and reference:
                session.owners[reference] = (thread.id, thread.stop)
            own(session, thread, *answer.values())
        elif isinstance(answer, list):
            own(session, thread, *answer)


def owner(session: Session, reference: int) -> Thread:
    """Whose value it is. Raises DebugError if that went on."""
    thread_id, stop = session.owners.get(reference, (-1, -1))
    thread = session.threads.get(thread_id)
    if thread is None or not thread.stopped or thread.stop != stop:
        raise DebugError("gone", "This value is of an earlier stop.")
    return thread


def exception_of(told: Any) -> ExceptionInfo:
    read = as_told(ExceptionTold, told)
    return ExceptionInfo(
        type=read.type, message=read.message, break_mode="unhandled", traceback=read.traceback, cause=read.cause
    )


async def stack_trace(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    asked = take(Levels, arguments)
    thread = await known(session, asked.thread_id)
    start, stop = asked.start_frame, thread.stop
    end = start + max(1, min(asked.levels, 1000))
    frames: list[Frame] = thread.frames[start:end]
    if not thread.rebuilt and end > len(thread.frames) < thread.total_frames:
        frames, _ = await session.fetch_frames(thread, start, end - start)
        if thread.stop != stop or not thread.stopped:
            raise DebugError("gone", "This thread went on.")
        # Frames that are known can be looked at and evaluated in.
        if start <= len(thread.frames) < end <= MOST_FRAMES:
            thread.frames = thread.frames[:start] + frames
    return {"stackFrames": frames, "totalFrames": thread.total_frames}


async def scopes(session: Session, who: str, arguments: dict[str, Any]) -> Any:
    frame_id = take(OfFrame, arguments).frame_id
    thread = going.thread_of_frame(session, frame_id)
    told = await session.probe("scopes", thread, frame=frame_id)
    own(session, thread, told)
    return as_told(ScopesTold, told)


async def variables(session: Session, who: str, arguments: dict[str, Any]) -> Variables:
    asked = take(Page, arguments)
    thread = owner(session, asked.variables_reference)
    count = max(1, min(asked.count, MOST_CHILDREN))
    told = await session.probe(
        "children",
        thread,
        reference=asked.variables_reference,
        start=max(0, asked.start),
        count=count,
        **asked.style,
    )
    own(session, thread, told)
    return as_told(Variables, told)


async def inspect(session: Session, who: str, arguments: dict[str, Any]) -> Any:
    reference = take(Page, arguments).variables_reference
    thread = owner(session, reference)
    more = {name: value for name, value in arguments.items() if name not in ("variablesReference", "reference")}
    told = await session.probe("inspect", thread, reference=reference, **more)
    own(session, thread, told)
    return told


async def exception_info(session: Session, who: str, arguments: dict[str, Any]) -> ExceptionInfo:
    thread = await known(session, take(OfThread, arguments).thread_id)
    told = await session.probe("exception", thread)
    if not told:
        raise DebugError("failed", "This thread isn't stopped at an exception.")
    return exception_of(told)


async def async_tasks(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, list[AsyncTask]]:
    stopped = [thread for thread in session.threads.values() if thread.stopped and thread.native is not None]
    tasks: list[AsyncTask] = []
    for thread in stopped:
        tasks += as_told(TasksTold, await session.probe("async_tasks", thread)).tasks
    return {"tasks": tasks}


async def modules(session: Session, who: str, arguments: dict[str, Any]) -> Any:
    asked = take(Searching, arguments)
    told = await session.probe("modules", text=asked.text, limit=max(1, min(asked.limit, 1000)))
    return as_told(ModulesTold, told)


async def source(session: Session, who: str, arguments: dict[str, Any]) -> SourceText:
    told = await session.probe("read", path=take(OfPath, arguments).path)
    return as_told(SourceText, told)


async def console(session: Session, who: str, arguments: dict[str, Any]) -> Console:
    session.flush_output()
    ring = session.console
    return Console(entries=ring.since(take(Since, arguments).since, MOST_ENTRIES), end=ring.end, dropped=ring.dropped)


async def messages(session: Session, who: str, arguments: dict[str, Any]) -> DapLog:
    ring = session.log
    return DapLog(messages=ring.since(take(Since, arguments).since, MOST_ENTRIES), end=ring.end, dropped=ring.dropped)


# Evaluating --------------------------------------------------------------------------------------------------------


async def evaluate(session: Session, who: str, arguments: dict[str, Any]) -> Evaluated:
    asked = take(Expression, arguments)
    if len(session.evaluations) >= MOST_EVALUATIONS:
        raise DebugError("busy", f"{MOST_EVALUATIONS} evaluations are under way in this worker; wait for some.")
    if asked.context not in ("repl", "watch", "hover"):
        raise ValueError(f"context is {asked.context[:40]!r}, expected repl, watch or hover")
    thread = None if asked.frame_id is None else going.thread_of_frame(session, asked.frame_id)
    if thread is not None:
        session.place(thread)
    session.last_evaluation += 1
    number = session.last_evaluation
    evaluation = Evaluation(
        evaluation=number,
        expression=asked.expression[:2000],
        who=who,
        since_ns=time.time_ns(),
        threadId=thread.id if thread else None,
    )
    shown = asked.context == "repl"
    if shown:
        session.say("input", asked.expression, who=who, evaluation=number, running=thread is None)
    session.evaluations[number] = evaluation
    if thread is not None and thread.busy is None:
        thread.busy = number
    work = asyncio.ensure_future(_evaluated(session, evaluation, asked, thread, shown))
    # Most are over in milliseconds: told each time, they would cost more than they take.
    asyncio.get_running_loop().call_later(SLOW_S, _tell_if_it_still_runs, session, number)
    try:
        return await asyncio.wait_for(asyncio.shield(work), ANSWER_S)
    except asyncio.TimeoutError:
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        return Evaluated(result="", waiting=True, evaluation=number, running=thread is None)


def _tell_if_it_still_runs(session: Session, number: int) -> None:
    if number in session.evaluations:
        session.changed()


async def _evaluated(
    session: Session, evaluation: Evaluation, asked: Expression, thread: Thread | None, shown: bool
) -> Evaluated:
    """Evaluate, however long it takes, and put the outcome into the console."""
    number = evaluation.evaluation
    began = time.monotonic()
    try:
        if thread is None:
            told = await going.run_beside(session, asked.expression, **asked.style)
        else:
            text = probe.call("evaluate", expression=asked.expression, frame=asked.frame_id, **asked.style)
            # In the context of a console, what it prints comes to the console.
            told = unpack(await session.evaluate(text, session.place(thread), "clipboard"))
            own(session, thread, told)
        read = as_told(Evaluated, told)
        note = None if read.note is None else clipped(read.note, 2000)
        result = msgspec.structs.replace(read, running=thread is None, evaluation=number, note=note)
    except DebugError as error:
        if shown:
            took = (time.monotonic() - began) * 1000
            text = error.body.hint or error.body.message
            session.flush_output()
            session.say("error", text, evaluation=number, took_ms=took, running=thread is None)
        raise
    finally:
        session.evaluations.pop(number, None)
        if thread is not None and thread.busy == number:
            waiting = [one.evaluation for one in session.evaluations.values() if one.threadId == thread.id]
            thread.busy = min(waiting, default=None)
        if time.monotonic() - began > SLOW_S:
            session.changed()
        else:
            session.changed_by_and_by()
    if shown:
        session.flush_output()
        session.say(
            "result",
            result.result,
            evaluation=number,
            took_ms=(time.monotonic() - began) * 1000,
            threadId=thread.id if thread else None,
            running=thread is None,
            variablesReference=result.variablesReference,
            type=result.type,
            summary=result.summary,
        )
        if result.note:
            session.say("note", result.note, evaluation=number)
    return result


async def set_variable(session: Session, who: str, arguments: dict[str, Any]) -> Evaluated:
    """By an assignment in the frame: it works for whatever has an expression."""
    asked = take(Setting, arguments)
    thread = going.thread_of_frame(session, asked.frame_id)
    for text in (asked.evaluate_name, asked.value):
        with contextlib.suppress(SyntaxError):
            compile(text.strip(), "<value>", "eval")
            continue
        raise ValueError(f"{text[:200]!r} isn't an expression")
    await session.probe(
        "evaluate", thread, expression=f"{asked.evaluate_name} = ({asked.value}\n)", frame=asked.frame_id
    )
    told = await session.probe("evaluate", thread, expression=asked.evaluate_name, frame=asked.frame_id, **asked.style)
    own(session, thread, told)
    session.say("note", f"{asked.evaluate_name} = {asked.value[:500]}", who=who)
    return as_told(Evaluated, told)


async def completions(session: Session, who: str, arguments: dict[str, Any]) -> Any:
    asked = take(Completing, arguments)
    more: dict[str, Any] = {}
    if asked.frame_id is not None:
        thread = going.thread_of_frame(session, asked.frame_id)
        inside = session.place(thread)
        rebuilt = any(frame.rebuilt and frame.id == asked.frame_id for frame in thread.frames)
        more = {"frameId": inside if rebuilt else asked.frame_id}
    told = await session.told(Completions, "completions", text=asked.text, column=asked.column, **more)
    return {"targets": told.targets[:MOST_CHILDREN]}


# Breakpoints -------------------------------------------------------------------------------------------------------


async def set_breakpoints(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    asked = take(Lines, arguments)
    points = session.breakpoints
    elsewhere = sum(len(lines) for path, lines in points.wanted.lines.items() if path != asked.path)
    if elsewhere + len(asked.breakpoints) > MOST_BREAKPOINTS:
        raise ValueError(f"{MOST_BREAKPOINTS} breakpoints are set in this session; remove some")
    points.set_lines(asked.path, [SourceBreakpoint(**msgspec.structs.asdict(one)) for one in asked.breakpoints])
    if asked.breakpoints:
        await lines.check_file(session, asked.path)
    await tracing.arm_if_needed(session)
    await lines.set_lines(session, asked.path)
    await tracing.free_if_idle(session)
    session.changed()
    session.keep()
    return {"breakpoints": [row for row in points.rows() if row.path == asked.path]}


async def set_function_breakpoints(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    names = take(Names, arguments).names
    session.breakpoints.wanted.functions = names
    await tracing.arm_if_needed(session)
    await session.request("setFunctionBreakpoints", breakpoints=[{"name": name} for name in names])
    await tracing.free_if_idle(session)
    session.changed()
    session.keep()
    return {}


async def set_exception_breakpoints(session: Session, who: str, arguments: dict[str, Any]) -> dict[str, Any]:
    asked = take(Filters, arguments)
    filters = asked.filters
    known_filters = {str(one.get("filter")) for one in session.available_filters}
    if unknown := set(filters) - known_filters:
        raise ValueError(f"filters {sorted(unknown)} aren't known; there are {sorted(known_filters)}")
    if bad := [name for name in asked.types if not _TYPE.fullmatch(name)]:
        raise ValueError(f"{bad[0][:100]!r} isn't the name of an exception type, such as ValueError or module.Error")
    session.breakpoints.wanted.filters, session.breakpoints.wanted.types = filters, asked.types
    await tracing.arm_if_needed(session)
    await session.request("setExceptionBreakpoints", **session.breakpoints.exception_request())
    await tracing.free_if_idle(session)
    session.changed()
    session.keep()
    return {}


Handler = Callable[[Session, str, dict[str, Any]], Awaitable[Any]]

HANDLERS: Final[dict[str, Handler]] = {
    "look": look,
    "stackTrace": stack_trace,
    "scopes": scopes,
    "variables": variables,
    "evaluate": evaluate,
    "setVariable": set_variable,
    "completions": completions,
    "exceptionInfo": exception_info,
    "inspect": inspect,
    "continue": going.resume,
    "next": going.step("next"),
    "stepIn": going.step("stepIn"),
    "stepOut": going.step("stepOut"),
    "pause": going.pause,
    "runTo": going.run_to,
    "goto": going.goto,
    "stepInTargets": going.step_in_targets,
    "setBreakpoints": set_breakpoints,
    "setFunctionBreakpoints": set_function_breakpoints,
    "setExceptionBreakpoints": set_exception_breakpoints,
    "modules": modules,
    "source": source,
    "console": console,
    "messages": messages,
    "asyncTasks": async_tasks,
}
"""All but ``attach`` and ``detach``, which are the broker's. The second argument names who asks."""
