"""What the next hub must know of a session that debugpy's events don't tell; the keeper holds it for the hub."""

from __future__ import annotations

from typing import Any

import msgspec

from raydebug.api.debug import ConsoleEntry, Evaluation
from raydebug.hub.debugger.breakpoints import Wanted
from raydebug.hub.debugger.target import Target


class Memory(msgspec.Struct, kw_only=True):
    target: Target
    by: str
    attached_ns: int
    capabilities: list[str]
    filters: list[dict[str, Any]]
    python: str | None
    debugpy: str | None
    post_mortem: bool
    tracing: bool
    wanted: Wanted
    stops: int
    evaluation: int
    threads: list[tuple[int, str, bool, int, str | None, str | None, int | None]]
    evaluations: list[Evaluation]
    console: list[ConsoleEntry]
    console_end: int
