"""What the next hub must know of a session that debugpy's events don't tell; the keeper holds it for the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from raydebug import probe
from raydebug.api.debug import Breakpoint, ConsoleEntry, Evaluation
from raydebug.api.keeper import WillRequest
from raydebug.hub.debugger.breakpoints import Breakpoints, Wanted
from raydebug.hub.debugger.target import Target
from raydebug.hub.debugger.threads import Thread

if TYPE_CHECKING:
    from raydebug.hub.debugger.session import Session

ENTRIES: Final = 200
"""Of the console, that the next hub gets; and of each at most so many characters:"""
CHARACTERS: Final = 2000


class Memory(msgspec.Struct, kw_only=True):
    target: Target
    by: str
    attached_ns: int
    capabilities: list[str]
    filters: list[dict[str, Any]]
    python: str | None
    debugpy: str | None
    post_mortem: bool
    tracing: bool
    armed: bool = False
    wanted: Wanted
    stops: int
    seen: int
    evaluation: int
    threads: list[tuple[int, str, bool, int, str | None, str | None, int | None, bool]]
    evaluations: list[Evaluation]
    console: list[ConsoleEntry]
    console_end: int
    breakpoints: list[Breakpoint] = []


def remember(session: Session, stops: int, seen: int) -> Memory:
    console = session.console.since(0, ENTRIES)
    return Memory(
        target=session.target,
        by=session.by,
        attached_ns=session.attached_ns,
        capabilities=session.capabilities,
        filters=session.available_filters,
        python=session.python,
        debugpy=session.debugpy,
        post_mortem=session.post_mortem,
        tracing=session.tracing,
        armed=session.armed,
        wanted=session.breakpoints.wanted,
        stops=stops,
        seen=seen,
        evaluation=session.last_evaluation,
        threads=[
            (one.id, one.name, one.stopped, one.stop, one.reason, one.text, one.since_ns, one.called)
            for one in session.threads.values()
        ],
        evaluations=list(session.evaluations.values()),
        console=[
            msgspec.structs.replace(entry, text=entry.text[:CHARACTERS], variablesReference=0) for entry in console
        ],
        console_end=session.console.end,
        breakpoints=session.breakpoints.rows(),
    )


def restore(session: Session, memory: Memory, evaluating: bool) -> None:
    """``evaluating``: what an earlier hub asked is still being evaluated."""
    session.by, session.attached_ns = memory.by, memory.attached_ns
    session.capabilities, session.available_filters = memory.capabilities, memory.filters
    session.python, session.debugpy = memory.python, memory.debugpy
    session.post_mortem, session.tracing, session.armed = memory.post_mortem, memory.tracing, memory.armed
    session.breakpoints = Breakpoints(memory.wanted, memory.breakpoints)
    session.last_evaluation = memory.evaluation
    for number, name, stopped, stop, reason, text, since_ns, called in memory.threads:
        session.threads[number] = Thread(number, name, stopped, reason, text, stop, since_ns, called=called)
    for evaluation in memory.evaluations if evaluating else []:
        session.evaluations[evaluation.evaluation] = evaluation
        if evaluation.threadId in session.threads:
            session.threads[evaluation.threadId].busy = evaluation.evaluation
    session.console.end = memory.console_end - len(memory.console)
    for entry in memory.console:
        session.console.add(lambda number, entry=entry: msgspec.structs.replace(entry, number=number))  # type: ignore[misc]


def will(session: Session) -> list[WillRequest]:
    """How the worker is left when no hub comes back: free of tracing, and going on."""
    # All first: what takes tracing away from every thread rests in each until its next call of a function.
    asked = [_request("evaluate", expression=probe.call("free_all", stepping=True), context="clipboard")]
    stopped = [thread for thread in session.threads.values() if thread.stopped]
    for thread in stopped:
        if thread.busy is None and (frame_id := thread.native) is not None:
            free = probe.call("free_this_thread")
            asked.append(_request("evaluate", expression=free, frameId=frame_id, context="clipboard"))
    if stopped:
        # debugpy can't be left while it evaluates; the others needn't wait for that.
        asked.append(_request("continue", if_busy=True, threadId=stopped[0].id))
    asked.append(_request("disconnect", terminateDebuggee=False))
    return asked


def _request(command: str, *, if_busy: bool = False, **arguments: Any) -> WillRequest:
    return WillRequest(command, msgspec.json.encode(arguments), if_busy)
