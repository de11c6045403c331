"""What the probe tells, checked: it comes out of a process that runs anybody's code."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from raydebug.api.debug import AsyncTask, Frame, Module, Scope
from raydebug.dap.bodies import Id
from raydebug.hub.debugger.errors import DebugError

T = TypeVar("T")

WENT_ON: Final = "The thread went on before it could answer."


def as_told(kind: type[T], told: Any) -> T:
    """``told`` as a ``kind``. Raises DebugError if it isn't one."""
    try:
        return msgspec.convert(told, kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DebugError("failed", f"The worker's answer can't be read: {str(error)[:300]}") from error


def unpack(result: str) -> Any:
    """The value in a probe's answer. Raises DebugError with the error in it."""
    if result == "None":
        # debugpy evaluated nothing: when it came to it, the thread stood elsewhere, and the frame was no more.
        raise DebugError("gone", WENT_ON)
    try:
        answer = msgspec.json.decode(result, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as bad:
        raise DebugError("failed", f"The worker's answer can't be read: {result[:200]!r}") from bad
    if answer.get("ok"):
        return answer.get("value")
    error = answer.get("error")
    error = error if isinstance(error, dict) else {}
    text = f"{error.get('type', 'Error')}: {error.get('message', '')}"
    if error.get("type") in ("GoneError", "NoFrameError"):
        raise DebugError("gone", "This value is of an earlier stop.")
    raise DebugError("failed", text, str(error.get("traceback") or ""))


class Hello(msgspec.Struct):
    python: str | None = None
    debugpy: str | None = None
    post_mortem: bool = False
    tracing: bool | None = None


class Where(msgspec.Struct):
    task_id: str | None = None
    os_thread_id: Id | None = None
    call_line: Id | None = None
    unwound: bool = False


class CheckedFrame(Frame, frozen=True, kw_only=True):
    id: Id
    line: Id
    column: Id = 0


class Rebuilt(msgspec.Struct):
    frames: list[CheckedFrame] = []
    type: str | None = None


class Beside(msgspec.Struct):
    """Of an evaluation in a running worker: where it stands."""

    ticket: Id | None = None
    value: Any = None
    error: str | None = None
    type: str = ""
    message: str = ""


class ScopesTold(msgspec.Struct):
    scopes: list[Scope] = []


class ModulesTold(msgspec.Struct):
    modules: list[Module] = []
    total: Id = 0


class TasksTold(msgspec.Struct):
    tasks: list[AsyncTask] = []


class ExceptionTold(msgspec.Struct):
    type: str
    message: str
    traceback: str | None = None
    cause: str | None = None
