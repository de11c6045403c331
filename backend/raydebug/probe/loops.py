"""The asyncio tasks of a loop that stands still because one of them stopped."""

from __future__ import annotations

import gc
import inspect
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from . import rays
from .frames import is_subtle
from .text import short, type_name

MOST = 1000
MOST_DEEP = 200


def async_tasks() -> dict[str, Any]:
    """All tasks of the loop that runs in this (stopped) thread (``api.debug.AsyncTask``)."""
    asyncio = sys.modules.get("asyncio")
    loop = asyncio._get_running_loop() if asyncio is not None else None
    if asyncio is None or loop is None:
        return {"tasks": [], "total": 0}
    current = asyncio.current_task(loop)
    found = list(asyncio.all_tasks(loop))
    found.sort(key=lambda task: (task is not current, _name(task)))
    return {"tasks": [_task(task, current) for task in found[:MOST]], "total": len(found)}


def _name(task: Any) -> str:
    try:
        return str(task.get_name())[:200]
    except Exception:
        return "?"


def _task(task: Any, current: Any) -> dict[str, Any]:
    chain = list(awaits(task.get_coro()))
    if task is current and not any(map(_is_users, chain)):
        # Compiled code that runs doesn't name what it awaits; but that is on this thread's stack.
        chain += on_stack()
    file, line = place(chain)
    state = "current" if task is current else "done" if task.done() else "waiting"
    return {
        "name": _name(task),
        "coroutine": _coroutine(chain),
        "file": file,
        "line": line,
        "state": state,
        "task_id": rays.task_of(task),
    }


def awaits(coroutine: Any) -> Iterator[tuple[Any, types.FrameType | None]]:
    """A coroutine and what it awaits, and so on, each with its frame where it has one."""
    for _ in range(MOST_DEEP):
        if coroutine is None:
            return
        if type(coroutine).__name__ == "coroutine_wrapper":
            # What ``__await__`` of a coroutine gives, as Ray's compiled code asks for it: it doesn't name its own.
            coroutine = next((one for one in gc.get_referents(coroutine) if type(one) is types.CoroutineType), None)
            continue
        frame = following = None
        for prefix, waits in (("cr", "cr_await"), ("gi", "gi_yieldfrom"), ("ag", "ag_await")):
            found = getattr(coroutine, f"{prefix}_frame", None)
            frame = found if isinstance(found, types.FrameType) else frame
            following = following or getattr(coroutine, waits, None)
        yield coroutine, frame
        coroutine = following


def on_stack() -> list[tuple[Any, types.FrameType | None]]:
    """The frames of coroutines in which the calling thread is, the outermost first."""
    found: list[tuple[Any, types.FrameType | None]] = []
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_flags & inspect.CO_COROUTINE:
            found.append((frame.f_code, frame))
        frame = frame.f_back
    return found[::-1]


def _coroutine(chain: list[tuple[Any, types.FrameType | None]]) -> str:
    """The name of the outermost that isn't Ray's or asyncio's."""
    users = next(filter(_is_users, chain), None)
    return _named((users or chain[0])[0]) if chain else "?"


def _is_users(step: tuple[Any, types.FrameType | None]) -> bool:
    frame = step[1]
    return frame is not None and not is_subtle(path := frame.f_code.co_filename) and not path.startswith(_asyncio())


def _named(coroutine: Any) -> str:
    name = getattr(coroutine, "__qualname__", None)
    if type(coroutine) is types.CodeType:
        name = getattr(coroutine, "co_qualname", coroutine.co_name)
    return name[:200] if isinstance(name, str) else short(coroutine, 200)[0] or type_name(type(coroutine))


def place(chain: list[tuple[Any, types.FrameType | None]]) -> tuple[str | None, int | None]:
    """The innermost line that isn't asyncio's own."""
    best: tuple[str | None, int | None] = (None, None)
    for _, frame in chain:
        if frame is not None and (best[0] is None or not frame.f_code.co_filename.startswith(_asyncio())):
            best = (frame.f_code.co_filename, frame.f_lineno)
    return best


def _asyncio() -> str:
    """The folder of its files."""
    return os.path.dirname(getattr(sys.modules["asyncio"], "__file__", "") or "") + os.sep
