"""The calls from outside: a name and JSON in, an object whose ``repr`` is JSON out, and never an exception."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable
from typing import Any

from . import beside, breaks, children, frames, handles, loops, sources, tensors, threads, tracing

LIMIT = 1_000_000
# Of a source's text.
SOURCE_LIMIT = 8_000_000
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Answer:
    """What an evaluation gives back: debugpy shows it by its ``repr``, once, and keeps it while the thread stands."""

    def __init__(self, text: str) -> None:
        self._text: str | None = text

    def __repr__(self) -> str:
        # debugpy holds the object until the thread goes on: not the text as well.
        text, self._text = self._text, None
        return text if text is not None else "<read already>"


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "arm": tracing.arm,
    "async_tasks": loops.async_tasks,
    "children": children.children,
    "evaluate": frames.evaluate,
    "exception": frames.exception,
    "forget": handles.forget,
    "free_all": tracing.free_all,
    "free_this_thread": tracing.free_this_thread,
    "go_on": threads.go_on,
    "hello": threads.hello,
    "inspect": tensors.inspect,
    "lines": sources.lines,
    "modules": sources.modules,
    "nodelay": tracing.nodelay,
    "poll": beside.poll,
    "read": sources.read,
    "scope": frames.scope,
    "scopes": frames.scopes,
    "start": beside.start,
    "state": tracing.state,
    "suspend": threads.suspend,
    "wake": threads.wake,
    "where": threads.where,
}


def call(function: str, arguments: str = "{}") -> Answer:
    """``arguments``: a JSON object, the function's keyword arguments."""
    try:
        with breaks.skipped():  # of a value's own code, too, such as its __repr__
            value = FUNCTIONS[function](**json.loads(arguments))
        limit = SOURCE_LIMIT if function == "read" else LIMIT
        text = dumped({"ok": True, "value": value})
        if len(text) > limit:
            text = failure("TooLargeError", f"the answer has {len(text):,} characters, more than {limit:,}", None)
    except BaseException as error:
        text = failed(error)
    threads.next_order()
    return Answer(text)


def dumped(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    if _SURROGATE.search(text):
        # Half a pair is no JSON for a strict reader; a whole one is.
        text = json.dumps(whole(json.loads(text)), separators=(",", ":"))
    return text


def whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [whole(item) for item in value]
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return value


def failed(error: BaseException) -> str:
    kind = type(error)
    printed: str | None
    try:
        printed = "".join(traceback.format_exception(kind, error, _without_ours(error)))[-20_000:]
    except BaseException:
        printed = None
    return failure(kind.__name__, frames.message(error), printed)


def _without_ours(error: BaseException) -> Any:
    """The traceback from the first frame that isn't the debugger's own; all of it where there is no other."""
    step = error.__traceback__
    while step is not None and step.tb_frame.f_globals.get("__package__") in (__package__, "_pydevd_bundle"):
        step = step.tb_next
    return step or error.__traceback__


def failure(kind: str, message: str, printed: str | None) -> str:
    error = {"type": kind, "message": message[:10_000], "traceback": printed}
    return dumped({"ok": False, "error": error})
