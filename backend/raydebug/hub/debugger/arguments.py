"""What the commands take."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from raydebug.api.debug import SourceBreakpoint, ValueFormat

T = TypeVar("T")

Id = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Line = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Column = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Path = Annotated[str, msgspec.Meta(min_length=1, max_length=4096, pattern=r"^[^\0]*$")]
Symbols = Annotated[list[Annotated[str, msgspec.Meta(min_length=1, max_length=500)]], msgspec.Meta(max_length=200)]
Short = Annotated[str, msgspec.Meta(max_length=2000)]
Text = Annotated[str, msgspec.Meta(max_length=100_000)]
"""An expression, or a line that is being typed."""


def take(kind: type[T], arguments: dict[str, Any]) -> T:
    """The arguments as they should be. Raises ValueError that says what is wrong."""
    try:
        return msgspec.convert(arguments, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"bad arguments: {error}") from error


def only_json(arguments: dict[str, Any]) -> None:
    """Raises ValueError for what msgpack can carry and JSON, debugpy's language, can't."""
    left: list[Any] = [arguments]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value
        elif not (value is None or isinstance(value, str | bool | int | float)):
            raise ValueError(f"bad arguments: a {type(value).__name__} is no value of JSON")


class Going(msgspec.Struct, rename="camel"):
    thread_id: Id
    all: bool = False
    target_id: Id | None = None


class ToLine(msgspec.Struct, rename="camel"):
    thread_id: Id
    path: Path
    line: Line


class OfThread(msgspec.Struct, rename="camel"):
    thread_id: Id


class Shown(msgspec.Struct, rename="camel", kw_only=True):
    """How values shall look."""

    format: ValueFormat = ValueFormat()

    @property
    def style(self) -> dict[str, bool]:
        """For the probe."""
        return {"hex": True} if self.format.hex else {}


class LookAt(Shown, rename="camel"):
    thread_id: Id
    frame_id: Id | None = None


class Levels(msgspec.Struct, rename="camel"):
    thread_id: Id
    start_frame: Count = 0
    levels: Count = 100


class OfFrame(msgspec.Struct, rename="camel"):
    frame_id: Id


class Page(Shown, rename="camel"):
    variables_reference: Id
    start: Count = 0
    count: Count = 100


class Expression(Shown, rename="camel"):
    expression: Text
    frame_id: Id | None = None
    context: str = "repl"


class Setting(Shown, rename="camel"):
    frame_id: Id
    evaluate_name: Text
    value: Text


class Completing(msgspec.Struct, rename="camel"):
    text: Text
    column: Column
    frame_id: Id | None = None


class AskedBreakpoint(SourceBreakpoint, frozen=True, kw_only=True, omit_defaults=True):
    line: Line
    condition: Short | None = None
    hitCondition: Short | None = None  # noqa: N815 (DAP's own name)
    logMessage: Short | None = None  # noqa: N815


class Lines(msgspec.Struct):
    path: Path
    breakpoints: Annotated[list[AskedBreakpoint], msgspec.Meta(max_length=1000)]


class Names(msgspec.Struct):
    names: Symbols


class Filters(msgspec.Struct):
    filters: list[str]
    types: Symbols = []


class Searching(msgspec.Struct):
    text: Text = ""
    limit: Count = 200


class OfPath(msgspec.Struct):
    path: Path


class Since(msgspec.Struct):
    since: Count = 0


class Pausing(msgspec.Struct, rename="camel"):
    thread_id: Id | None = None
