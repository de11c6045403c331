"""The debugger: sessions, and what is asked of one.

A session is the hub's attachment to one worker or driver; there is at most one for each, shared by all who look. Words
are DAP's. A row of table ``sessions`` (topic ``debug``) says where it stands; everything else is asked for with
``stream.Debug``: a ``command`` with ``arguments``, answered by a body. Commands and bodies:

=================== =================================================== ===============================================
command             arguments                                           body
=================== =================================================== ===============================================
``attach``          ``{}``                                              ``{}`` once attached (or an error)
``detach``          ``{}``                                              ``{}``
``look``            ``{threadId, frameId?, format?}``                   :class:`Look`
``stackTrace``      ``{threadId, startFrame?, levels?}``                ``{stackFrames: Frame[], totalFrames}``
``scopes``          ``{frameId}``                                       ``{scopes: Scope[]}``
``variables``       ``{variablesReference, start?, count?, format?}``   :class:`Variables`
``evaluate``        ``{expression, frameId?, context, format?}``        :class:`Evaluated`; context: repl, watch, hover
``setVariable``     ``{frameId, evaluateName, value, format?}``         :class:`Evaluated`
``completions``     ``{text, column, frameId?}``                        ``{targets: DAP CompletionItem[]}``
``exceptionInfo``   ``{threadId}``                                      :class:`ExceptionInfo`
``inspect``         ``{variablesReference, view, …}``                   see ``raydebug.probe``
``continue``        ``{threadId, all?}``                                ``{}``; ``all``: all threads, else this one
``next`` ``stepIn`` ``{threadId, targetId?}``                           ``{}``
``stepOut``         ``{threadId}``                                      ``{}``
``pause``           ``{threadId?}``                                     ``{}``
``runTo``           ``{threadId, path, line}``                          ``{}``
``goto``            ``{threadId, path, line}``                          ``{}``: set next statement
``stepInTargets``   ``{frameId}``                                       ``{targets: [{id, label, line?}]}``
``setBreakpoints``  ``{path, breakpoints: SourceBreakpoint[]}``         ``{breakpoints: Breakpoint[]}``, all of a file
``setFunctionBreakpoints`` ``{names: string[]}``                        ``{}``
``setExceptionBreakpoints`` ``{filters: string[], types?: string[]}``                     ``{}``
``modules``         ``{text?, limit?}``                                 ``{modules: Module[], total}``
``source``          ``{path}``                                          :class:`SourceText`
``console``         ``{since}``                                         :class:`Console`
``messages``        ``{since}``                                         :class:`DapLog`
``asyncTasks``      ``{}``                                              ``{tasks: AsyncTask[]}``
=================== =================================================== ===============================================

``format`` is a :class:`ValueFormat`.
``frameId`` and ``variablesReference`` are valid while their thread stays stopped. Field names inside bodies are DAP's
own camelCase where the object is DAP's.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Command = Literal[
    "attach",
    "detach",
    "look",
    "stackTrace",
    "scopes",
    "variables",
    "evaluate",
    "setVariable",
    "completions",
    "exceptionInfo",
    "inspect",
    "continue",
    "next",
    "stepIn",
    "stepOut",
    "pause",
    "runTo",
    "goto",
    "stepInTargets",
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setExceptionBreakpoints",
    "modules",
    "source",
    "console",
    "messages",
    "asyncTasks",
]
SessionState = Literal["attaching", "stopped", "running", "ended", "failed"]


class SourceBreakpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As asked for. ``line``: from 1. ``hitCondition``: a number, ``>=5``, ``%3``. ``logMessage``:
    holds ``{expression}``."""

    line: int
    condition: str | None = None
    hitCondition: str | None = None
    logMessage: str | None = None
    enabled: bool = True


class Breakpoint(msgspec.Struct, frozen=True, kw_only=True):
    """As it is. ``hits``: times a thread stopped at it, or it logged. ``message``: why it isn't verified. ``number``:
    what people call it; it keeps its number while the session lasts, and no other gets it."""

    path: str
    line: int
    condition: str | None = None
    hitCondition: str | None = None
    logMessage: str | None = None
    enabled: bool = True
    verified: bool = False
    message: str | None = None
    hits: int = 0
    number: int = 0


class DebugThread(msgspec.Struct, frozen=True, kw_only=True):
    """A thread of a session's process. ``threadId``: DAP's, valid in this session.

    Of a stopped one: ``reason``, DAP's ``text`` (of an exception: its type), where it stands, since when, and ``stop``,
    a number that grows with each stop in this session: what was fetched for another number is of the past. ``busy``:
    the number of the evaluation that runs on it. ``called``: it stands at a ``breakpoint()`` in the code,
    whose line is ``call_line``: debugpy may stop one behind it.
    ``first``: it hasn't gone on in this session. ``unwound``: its task has failed and left these frames; it can be
    looked at, and let go, but not stepped.
    """

    threadId: int
    name: str
    state: Literal["stopped", "running"]
    reason: str | None = None
    text: str | None = None
    stop: int = 0
    file: str | None = None
    line: int | None = None
    function: str | None = None
    task_id: str | None = None
    since_ns: int | None = None
    busy: int | None = None
    os_thread_id: int | None = None
    called: bool = False
    call_line: int | None = None
    unwound: bool = False
    first: bool = False


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """An evaluation that hasn't come back. ``who``: whose it is."""

    evaluation: int
    expression: str
    who: str
    since_ns: int
    threadId: int | None = None


class DebugSession(msgspec.Struct, frozen=True, kw_only=True):
    """A row of table ``sessions``, keyed by ``worker_id``.

    ``state``: stopped while any thread is; ended and failed rows stay for a while, with the reason in ``note``.
    ``held_by``: who else is attached, where that is why it failed; it is tried again until ``detach``.
    ``keeper``: False where the hub itself holds debugpy's socket, so that the worker runs on should the hub die.
    ``tracing``: whether Python's tracing is on in this process (it is slow then, on Python 3.10 and 3.11).
    ``console_end``: the number after the last entry of its console; ``messages_end``: of its DAP log.
    ``lost_ns``: since when the hub can't reach the keeper; what is shown is of before.
    """

    worker_id: str
    worker_type: Literal["worker", "driver"]
    job_id: str | None
    actor_id: str | None
    node_id: str
    pid: int
    group: str | None
    rank: int | None
    state: SessionState
    note: str | None = None
    held_by: str | None = None
    keeper: bool = True
    python: str | None = None
    debugpy: str | None = None
    attached_ns: int
    attached_by: str
    post_mortem: bool = False
    tracing: bool = False
    lost_ns: int | None = None
    threads: list[DebugThread] = []
    breakpoints: list[Breakpoint] = []
    functions: list[str] = []
    filters: list[str] = []
    types: list[str] = []
    available_filters: list[dict[str, Any]] = []
    evaluations: list[Evaluation] = []
    console_end: int = 0
    messages_end: int = 0
    capabilities: list[str] = []


class ValueFormat(msgspec.Struct, frozen=True, omit_defaults=True):
    """DAP's. ``hex``: whole numbers in hex."""

    hex: bool = False


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a value is, before what is in it. ``shape`` of arrays, tensors, frames; ``length`` of containers and text.

    ``device``: of a tensor. ``pending``: a CUDA tensor whose stream isn't idle: metadata only. ``clipped``: characters
    or items left out of the value shown.
    """

    kind: str
    shape: list[int] | None = None
    dtype: str | None = None
    device: str | None = None
    length: int | None = None
    nbytes: int | None = None
    requires_grad: bool | None = None
    pending: bool = False
    clipped: int = 0


class Variable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """DAP's Variable, and ``summary``. ``evaluateName``: the expression for it in its frame, None: there is none."""

    name: str
    value: str
    type: str = ""
    variablesReference: int = 0
    indexedVariables: int | None = None
    namedVariables: int | None = None
    evaluateName: str | None = None
    presentationHint: dict[str, Any] | None = None
    summary: Summary | None = None


class Variables(msgspec.Struct, frozen=True, kw_only=True):
    """A page of children; ``total``: how many there are, from ``start`` on these."""

    variables: list[Variable]
    total: int
    start: int = 0


class Evaluated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """DAP's evaluate response. ``running``: evaluated on a thread of the debugger while the worker ran.

    ``evaluation``: its number. ``waiting``: it hasn't come back in the time that one waits; it goes on, and its outcome
    comes as a console entry with this number. ``note``: what is to be known beside it, such as breakpoints it passed.
    """

    result: str
    type: str = ""
    variablesReference: int = 0
    indexedVariables: int | None = None
    namedVariables: int | None = None
    summary: Summary | None = None
    running: bool = False
    waiting: bool = False
    evaluation: int = 0
    note: str | None = None


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    variablesReference: int
    expensive: bool = False
    presentationHint: str | None = None


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """DAP's StackFrame. ``path`` None: the frame has no file. ``subtle``: of Ray's or debugpy's own code.

    ``rebuilt``: read from an exception's traceback: it can be looked at and evaluated in, not stepped.
    """

    id: int
    name: str
    path: str | None
    line: int
    column: int = 0
    subtle: bool = False
    rebuilt: bool = False


class ExceptionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """``traceback``: as Python prints it. ``break_mode``: DAP's."""

    type: str
    message: str
    break_mode: str
    traceback: str | None = None
    cause: str | None = None


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """All for the first sight of a stopped thread: of ``frame_id`` the scopes, of the first of them the variables.

    ``frames``: the innermost 100, of a post-mortem all; ``stackTrace`` tells the others.
    """

    stop: int
    frames: list[Frame]
    total_frames: int
    frame_id: int | None
    scopes: list[Scope]
    variables: Variables | None
    exception: ExceptionInfo | None = None


class SourceText(msgspec.Struct, frozen=True, kw_only=True):
    """A file as the worker has it. ``sha256``: of its bytes. ``changed``: since the process imported it.

    ``breakable``: lines on which a breakpoint can hit.
    """

    path: str
    text: str
    sha256: str
    lines: int
    changed: bool = False
    clipped: int = 0
    breakable: list[int] = []


class Module(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str


class AsyncTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of an asyncio loop. ``current``: it is the one that stands at the breakpoint; the others wait for it."""

    name: str
    coroutine: str
    file: str | None
    line: int | None
    state: Literal["current", "waiting", "done"]
    task_id: str | None = None


class ConsoleEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``evaluation`` joins the input, result or error of one; ``stdout``, ``stderr``: what the process printed;
    ``log``: of a log point; ``note``: what happened to the session."""

    number: int
    at_ns: int
    kind: Literal["input", "result", "error", "stdout", "stderr", "log", "note"]
    text: str
    who: str | None = None
    evaluation: int | None = None
    took_ms: float | None = None
    threadId: int | None = None
    running: bool = False
    variablesReference: int = 0
    type: str = ""
    summary: Summary | None = None


class Console(msgspec.Struct, frozen=True, kw_only=True):
    """Entries from ``since`` on; ``dropped``: older ones that are no longer kept."""

    entries: list[ConsoleEntry]
    end: int
    dropped: int = 0


class DapMessage(msgspec.Struct, frozen=True, kw_only=True):
    """``sent``: to debugpy, else from it. ``text``: the message's JSON, clipped."""

    number: int
    at_ns: int
    sent: bool
    kind: Literal["request", "response", "event"]
    command: str
    text: str
    took_ms: float | None = None
    success: bool = True


class DapLog(msgspec.Struct, frozen=True, kw_only=True):
    messages: list[DapMessage]
    end: int
    dropped: int = 0
