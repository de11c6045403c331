"""What is read of debugpy's bodies. What an adapter says is never trusted: types are checked, numbers and texts are
kept in bounds, before anything of it is remembered."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

import msgspec

Id = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""What JavaScript can hold, too."""
NAME: Final = 500
"""So many characters of a name, a reason or a path are kept (a path's last)."""
PATH: Final = 4096

T = TypeVar("T")


class BodyError(ValueError):
    """A body isn't what DAP says it is."""


def read(kind: type[T], body: bytes) -> T:
    """Raises BodyError."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BodyError(str(error)[:300]) from error


def clipped(text: str, most: int = NAME) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class Source(msgspec.Struct):
    path: str | None = None


class StackFrame(msgspec.Struct):
    id: Id
    name: str = ""
    line: Id | None = None
    column: Id | None = None
    source: Source | None = None


class StackTrace(msgspec.Struct, rename="camel"):
    stack_frames: list[StackFrame] = []
    total_frames: Id | None = None


class NamedThread(msgspec.Struct):
    id: Id
    name: str = ""


class Threads(msgspec.Struct):
    threads: list[NamedThread] = []


class MadeBreakpoint(msgspec.Struct):
    id: Id | None = None
    verified: bool = False
    line: Id | None = None
    message: str | None = None


class MadeBreakpoints(msgspec.Struct):
    breakpoints: list[MadeBreakpoint] = []


class Target(msgspec.Struct, rename="camel", omit_defaults=True):
    """Of ``goto`` and of ``stepIn``."""

    id: Id
    label: str = ""
    line: Id | None = None


class Targets(msgspec.Struct):
    targets: list[Target] = []


class CompletionItem(msgspec.Struct, omit_defaults=True):
    label: str
    text: str | None = None
    type: str | None = None
    start: Id | None = None
    length: Id | None = None
    detail: str | None = None
    sort_text: str | None = msgspec.field(name="sortText", default=None)


class Completions(msgspec.Struct):
    targets: list[CompletionItem] = []


class Evaluation(msgspec.Struct):
    result: str = ""


class Filter(msgspec.Struct, omit_defaults=True):
    filter: str
    label: str = ""
    description: str | None = None
    default: bool = False
    supports_condition: bool = msgspec.field(name="supportsCondition", default=False)


class Capabilities(msgspec.Struct, rename="camel"):
    exception_breakpoint_filters: list[Filter] = []


class Stopped(msgspec.Struct, rename="camel"):
    thread_id: Id
    reason: str = ""
    text: str | None = None
    hit_breakpoint_ids: list[Id] = []


class Continued(msgspec.Struct, rename="camel"):
    thread_id: Id | None = None
    all_threads_continued: bool = False


class ThreadChanged(msgspec.Struct, rename="camel"):
    thread_id: Id
    reason: str = ""


class Output(msgspec.Struct):
    category: str | None = None
    output: str = ""


def names_that_are_true(body: Any) -> list[str]:
    """The capabilities that an adapter says it has."""
    return sorted(clipped(name, 100) for name, value in body.items() if value is True)[:200]
