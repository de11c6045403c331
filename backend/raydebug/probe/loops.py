"""The asyncio tasks of a loop that stands still because one of them stopped."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

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
    coroutine = task.get_coro()
    file, line = place(coroutine)
    state = "current" if task is current else "done" if task.done() else "waiting"
    return {
        "name": _name(task),
        "coroutine": _coroutine(coroutine),
        "file": file,
        "line": line,
        "state": state,
        "task_id": ray_task(task),
    }


def _coroutine(coroutine: Any) -> str:
    name = getattr(coroutine, "__qualname__", None)
    return name[:200] if isinstance(name, str) else short(coroutine, 200)[0] or type_name(type(coroutine))


def place(coroutine: Any) -> tuple[str | None, int | None]:
    """The innermost line of the chain of awaits that isn't asyncio's own."""
    own = os.path.dirname(getattr(sys.modules["asyncio"], "__file__", "") or "") + os.sep
    best: tuple[str | None, int | None] = (None, None)
    for _ in range(MOST_DEEP):
        if coroutine is None:
            break
        following = None
        for prefix, waits in (("cr", "cr_await"), ("gi", "gi_yieldfrom"), ("ag", "ag_await")):
            frame = getattr(coroutine, f"{prefix}_frame", None)
            if isinstance(frame, types.FrameType):
                path = frame.f_code.co_filename
                if best[0] is None or not path.startswith(own):
                    best = (path, frame.f_lineno)
            following = following or getattr(coroutine, waits, None)
        coroutine = following
    return best


def ray_task(task: Any) -> str | None:
    """The Ray task that an async actor's asyncio task is; Python tells only from 3.12 on."""
    variable = getattr(sys.modules.get("ray._raylet"), "async_task_id", None)
    if variable is None or not hasattr(task, "get_context"):
        return None
    try:
        found = task.get_context().get(variable)
        return None if found is None else str(found.hex())
    except Exception:
        return None
