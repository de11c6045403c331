"""What the probe asks of Ray: all of Ray's private parts that it touches, and the only module that names them.

``raydebug.ray_compat`` is the door to Ray everywhere else; it can't be one where raydebug may not be installed. Ray is
only asked where the program has loaded it, and whatever changes in it makes an answer None.
"""

from __future__ import annotations

import sys
from typing import Any

BREAKPOINT = ("ray.util.debugpy", "_try_import_debugpy")
"""Module and function that Ray's ``breakpoint()`` asks first: None from it ends it before anything has happened."""

POST_MORTEM = "_debugpy_excepthook"
"""The function in which a task stands that has failed, after its exception has left it."""


def actor() -> Any:
    """The actor that lives in this process."""
    worker = getattr(sys.modules.get("ray._private.worker"), "global_worker", None)
    try:
        return worker.actors.get(worker.actor_id) if worker is not None else None
    except Exception:
        return None


def task_of_thread() -> str | None:
    """The task, as hex, that the calling thread runs."""
    ray = sys.modules.get("ray")
    try:
        if ray is not None and ray.is_initialized():
            found = ray.get_runtime_context().get_task_id()
            return None if found is None else str(found)
    except Exception:
        pass  # a thread that runs none
    return None


def task_of(asyncio_task: Any) -> str | None:
    """The task, as hex, that this asyncio task of an async actor is; Python tells only from 3.12 on."""
    variable = getattr(sys.modules.get("ray._raylet"), "async_task_id", None)
    if variable is None or not hasattr(asyncio_task, "get_context"):
        return None
    try:
        found = asyncio_task.get_context().get(variable)
        return None if found is None else str(found.hex())
    except Exception:
        return None
