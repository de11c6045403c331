"""A frame's variables as one namespace to run code in, and what that changed brought back into the frame.

One, not globals and locals: code with a scope of its own, such as a comprehension, would miss the locals.
"""

from __future__ import annotations

import ast
import ctypes
import dis
import inspect
import sys
import threading
import types
from typing import Any

_ABSENT: Any = object()


class NotDeletedError(RuntimeError):
    """A variable that Python keeps."""


def run_in(frame: types.FrameType, text: str) -> Any:
    """Evaluate an expression, or carry out statements, as if they stood in the frame. ``await`` may be used: it runs
    in a loop, and on a thread, of its own."""
    code = _compiled(text)
    names = {**frame.f_globals, **frame.f_locals}
    names.setdefault("globals", lambda: frame.f_globals)
    before = dict(names)
    run = _awaited if inspect.CO_COROUTINE & code.co_flags else eval
    try:
        value = run(code, names)
    except BaseException:
        _bring_back(frame, before, names)  # what was done before the error, too
        raise
    kept = _bring_back(frame, before, names)
    if kept:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise NotDeletedError(
            f"{', '.join(kept)} can't be deleted in a running function by Python {version}: it is kept"
        )
    return value


def _compiled(text: str) -> types.CodeType:
    for mode in ("eval", "exec"):
        try:
            found: types.CodeType = compile(
                text.strip() if mode == "eval" else text, "<console>", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True
            )
            return found
        except SyntaxError:
            if mode == "exec":
                raise
    raise AssertionError


def _awaited(code: types.CodeType, names: dict[str, Any]) -> Any:
    import asyncio

    outcome: list[Any] = []

    async def wait() -> Any:
        return await eval(code, names)

    def run() -> None:
        try:
            outcome.append(asyncio.run(wait()))
        except BaseException as error:
            outcome.extend((None, error))

    thread = threading.Thread(target=run, name="raydebug awaits", daemon=True)
    thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
    thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    thread.start()
    thread.join()
    if len(outcome) > 1:
        raise outcome[1]
    return outcome[0]


def _bring_back(frame: types.FrameType, before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Those that had to be kept although they were deleted."""
    changed = {
        name: value
        for name, value in now.items()
        if value is not before.get(name, _ABSENT) and name not in ("__builtins__", "globals")
    }
    removed = [name for name in before if name not in now and name != "globals"]
    if not changed and not removed:
        return []
    if frame.f_locals is frame.f_globals:
        frame.f_globals.update(changed)
        for name in removed:
            frame.f_globals.pop(name, None)
        return []
    code = frame.f_code
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    # Once: each asking overwrites it, before Python 3.13, by the variables themselves.
    local = frame.f_locals
    shared = _globals_of(code) if any(name in frame.f_globals for name in (*changed, *removed)) else set()

    def is_global(name: str) -> bool:
        return name not in own and name not in local and name in frame.f_globals and name in shared

    for name, value in changed.items():
        (frame.f_globals if is_global(name) else local)[name] = value
    kept = []
    for name in removed:
        if name not in local:
            frame.f_globals.pop(name, None)
        elif (name in own and sys.version_info >= (3, 12)) or not _delete(local, name):
            kept.append(name)
    if sys.version_info < (3, 13):
        # Into the function's variables; with 1 those are deleted that it has and the dictionary hasn't (or, by Python
        # 3.12, made None).
        clear = ctypes.c_int(1 if removed and sys.version_info < (3, 12) else 0)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), clear)
    return kept


def _delete(local: Any, name: str) -> bool:
    """Of what isn't a variable of the function; Python 3.13.0 deletes none of that either."""
    value = local[name]
    try:
        del local[name]
    except (ValueError, TypeError, KeyError, RuntimeError, SystemError):
        local[name] = value
        return False
    return True


def _globals_of(code: types.CodeType) -> set[str]:
    """Names that the code takes for the module's."""
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname.endswith("_GLOBAL")}
