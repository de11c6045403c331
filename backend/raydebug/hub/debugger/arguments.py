"""What the commands take."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from raydebug.api.debug import SourceBreakpoint

T = TypeVar("T")


def take(kind: type[T], arguments: dict[str, Any]) -> T:
    """The arguments as they should be. Raises ValueError that says what is wrong."""
    try:
        return msgspec.convert(arguments, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"bad arguments: {error}") from error


class Going(msgspec.Struct, rename="camel"):
    thread_id: int
    all: bool = False
    target_id: int | None = None


class ToLine(msgspec.Struct, rename="camel"):
    thread_id: int
    path: str
    line: int


class OfThread(msgspec.Struct, rename="camel"):
    thread_id: int


class LookAt(msgspec.Struct, rename="camel"):
    thread_id: int
    frame_id: int | None = None


class Levels(msgspec.Struct, rename="camel"):
    thread_id: int
    start_frame: int = 0
    levels: int = 100


class OfFrame(msgspec.Struct, rename="camel"):
    frame_id: int


class Page(msgspec.Struct, rename="camel"):
    variables_reference: int
    start: int = 0
    count: int = 100


class Expression(msgspec.Struct, rename="camel"):
    expression: str
    frame_id: int | None = None
    context: str = "repl"


class Setting(msgspec.Struct, rename="camel"):
    frame_id: int
    evaluate_name: str
    value: str


class Completing(msgspec.Struct, rename="camel"):
    text: str
    column: int
    frame_id: int | None = None


class Lines(msgspec.Struct):
    path: str
    breakpoints: list[SourceBreakpoint]


class Names(msgspec.Struct):
    names: list[str]


class Filters(msgspec.Struct):
    filters: list[str]
    types: list[str] = []


class Searching(msgspec.Struct):
    text: str = ""
    limit: int = 200


class OfPath(msgspec.Struct):
    path: str


class Since(msgspec.Struct):
    since: int = 0
