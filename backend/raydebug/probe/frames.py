"""Frames of a stopped thread, of a traceback; evaluation in them; the exception that a thread is stopped at."""

from __future__ import annotations

import ast
import builtins
import sys
import textwrap
import traceback
import types
from collections.abc import Callable
from typing import Any

from . import breaks, handles
from .children import inside, page_of
from .namespace import run_in
from .text import contained_repr, type_name
from .values import Variables, shown

MOST_FRAMES = 1000
MOST_TRACEBACK = 100_000
MOST_CHAIN = 20
# Names that frameless evaluation has set, as an interpreter keeps them.
_console: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}


class NoFrameError(LookupError):
    """Neither a frame of a stopped thread nor a handle of one."""


def find(frame: int) -> tuple[types.FrameType, int | None, bool]:
    """The frame of a handle, or of DAP's ``frameId``; its thread's ident; whether it is rebuilt."""
    if handles.has(frame):
        value, _ = handles.get(frame)
        if type(value) is types.FrameType:
            return value, None, True
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    if debugger is not None:
        # A frame is looked up under its thread's name, which the caller needn't know.
        manager, address = debugger.suspended_frames_manager, handles.of_pydevd(frame)
        for thread_id in list(manager._thread_id_to_tracker):
            found = debugger.find_frame(thread_id, frame if address is None else address)
            if isinstance(found, types.FrameType):
                return found, handles.pydevd_thread(thread_id), False
    raise NoFrameError("no such frame: its thread went on")


def scopes(frame: int) -> dict[str, Any]:
    """DAP's scopes of a frame."""
    found, ident, rebuilt = find(frame)
    with _group(frame, ident, rebuilt):
        both = [
            {
                "name": "Locals",
                "variablesReference": handles.put(Variables(found, "locals"), ""),
                "presentationHint": "locals",
            },
            {"name": "Globals", "variablesReference": handles.put(Variables(found, "globals"), ""), "expensive": True},
        ]
    return {"scopes": both}


def scope(frame: int, which: str = "locals", start: int = 0, count: int = 200) -> dict[str, Any]:
    """A page of a frame's variables, with the handle for more of them."""
    if which not in ("locals", "globals"):
        raise ValueError("which: locals or globals")
    found, ident, rebuilt = find(frame)
    with _group(frame, ident, rebuilt):
        value = Variables(found, which)
        return {"variablesReference": handles.put(value), **page_of(inside(value, None), start, min(count, 1000))}


def _group(frame: int, ident: int | None, rebuilt: bool) -> handles.group_of:
    return handles.group_of(frame) if rebuilt else handles.group_of(ident=ident)


# Evaluation


def evaluate(expression: str, frame: int | None = None) -> dict[str, Any]:
    """An expression or statements in a frame, or in a namespace of their own (``api.debug.Evaluated``)."""
    if frame is None:
        return told(expression, lambda text: _run(text, _console))
    found, ident, rebuilt = find(frame)
    with _group(frame, ident, rebuilt):
        return told(expression, lambda text: run_in(found, text))


def told(text: str, run: Callable[[str], Any]) -> dict[str, Any]:
    """Run ``text`` as a console does: the value of its last line, if that is an expression, else nothing."""
    with breaks.skipped() as met:
        found = _told(text, run)
    return {**found, "note": breaks.note(met)} if met else found


def _told(text: str, run: Callable[[str], Any]) -> dict[str, Any]:
    statements, expression = _parts(text)
    if statements:
        run(statements)
    if expression is None:
        return {"result": "", "type": ""}
    value = run(expression)
    if value is None and expression.rstrip().endswith(")"):
        return {"result": "", "type": ""}  # of a call for its effect
    return shown(value, expression)


def _parts(text: str) -> tuple[str, str | None]:
    """Statements, and the expression at their end. What can't be parsed is left whole: running it says why."""
    text = textwrap.dedent(text).strip("\n")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text, None
    if not body or not isinstance(body[-1], ast.Expr):
        return text, None
    last = body[-1]
    lines = text.encode().splitlines(keepends=True)
    at = sum(len(line) for line in lines[: last.lineno - 1]) + last.col_offset
    before, after = text.encode()[:at].decode(), text.encode()[at:].decode()
    return before.rstrip().rstrip(";"), after.rstrip().rstrip(";")


def _run(expression: str, namespace: dict[str, Any]) -> Any:
    try:
        code = compile(expression.strip(), "<console>", "eval")
    except SyntaxError:
        exec(compile(expression, "<console>", "exec"), namespace)
        return None
    return eval(code, namespace)


# Exceptions


def current_exception() -> tuple[BaseException, types.TracebackType | None] | None:
    """The exception that this thread is stopped at, or is handling, and its traceback: while it is being raised, it
    has none of its own yet.

    Asked by an evaluation, so the stopped code lies further out in this thread's own stack.
    """
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "do_wait_suspend" and code.co_filename.endswith("pydevd.py"):
            # Of a stop at a raise: what pydevd's own frames hand down. Of others it is no exception.
            error = frame.f_locals.get("arg") if frame.f_locals.get("event") == "exception" else None
            if isinstance(error, tuple) and len(error) == 3 and isinstance(error[1], BaseException):
                return error[1], error[1].__traceback__ or error[2]
        if code.co_name == "_debugpy_excepthook" and code.co_filename.endswith("debugpy.py"):
            error = frame.f_locals.get("error")
            if isinstance(error, tuple) and len(error) == 3 and isinstance(error[1], BaseException):
                return error[1], error[1].__traceback__ or error[2]
        frame = frame.f_back
    handled = sys.exc_info()[1]
    return None if handled is None else (handled, handled.__traceback__)


def exception() -> dict[str, Any] | None:
    """The exception this thread is stopped at, with its true stack; None: there is none."""
    found = current_exception()
    return None if found is None else about(*found)


def about(error: BaseException, trace: types.TracebackType | None = None) -> dict[str, Any]:
    chain: list[dict[str, str]] = []
    seen: set[int] = set()
    trace = trace or error.__traceback__
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen and len(chain) < MOST_CHAIN:
        seen.add(id(cause))
        following = cause.__cause__
        link = "cause"
        if following is None and not cause.__suppress_context__:
            following, link = cause.__context__, "context"
        if following is not None and id(following) not in seen:
            chain.append({"link": link, "type": type_name(type(following)), "message": message(following)})
        cause = following
    return {
        "type": type_name(type(error)),
        "message": message(error),
        "traceback": printed(error, trace),
        "cause": f"{chain[0]['type']}: {chain[0]['message']}"[:1000] if chain else None,
        "chain": chain,
        **traceback_frames(trace),
    }


def message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as raised:
        return f"<its str raised {type(raised).__name__}>"
    return str.__str__(text)[:10_000]


def printed(error: BaseException, trace: types.TracebackType | None = None) -> str:
    try:
        if isinstance(error, SyntaxError) and error.filename == "<console>":
            return "".join(traceback.format_exception_only(type(error), error))  # it never ran
        text = "".join(traceback.format_exception(type(error), error, trace or error.__traceback__))
    except BaseException:
        text = contained_repr(error, type(error))
    return text if len(text) <= 100_000 else f"{text[:50_000]}\n…\n{text[-50_000:]}"


def traceback_frames(trace: types.TracebackType | None) -> dict[str, Any]:
    """The exception's own stack, innermost first; each frame has a handle, which stands for its ``frameId``."""
    entries: list[tuple[types.FrameType, int]] = []
    step = trace
    while step is not None and len(entries) < MOST_TRACEBACK:
        entries.append((step.tb_frame, step.tb_lineno or step.tb_frame.f_code.co_firstlineno))
        step = step.tb_next
    total = len(entries)
    entries.reverse()
    return {"frames": [_frame(frame, line) for frame, line in entries[:MOST_FRAMES]], "totalFrames": total}


def _frame(frame: types.FrameType, line: int) -> dict[str, Any]:
    code = frame.f_code
    path = code.co_filename
    return {
        "id": handles.put(frame),
        "name": getattr(code, "co_qualname", code.co_name),
        "path": None if path.startswith("<") else path,
        "line": line,
        "subtle": is_subtle(path),
        "rebuilt": True,
    }


def is_subtle(path: str) -> bool:
    """Of Ray's or debugpy's own code, or nobody's file."""
    inner = ("-packages/ray/", "-packages/debugpy/", "/_pydevd_bundle/", "/_pydev_bundle/")
    return path.startswith("<frozen") or path.endswith((".pyx", ".pxi")) or any(part in path for part in inner)
