"""The line breakpoints of a worker, as the console numbers them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final

import msgspec

from raydebug.api.debug import Breakpoint, SourceBreakpoint

from .parse import UsageError, breakpoint_of, number
from .worker import Worker

_MOST_NAMED: Final = 6
_ROW_S: Final = 1.0


class Points:
    """Their numbers are the hub's: the same in each console of the session."""

    def __init__(self, worker: Worker) -> None:
        self._worker: Final = worker
        self._seen: dict[str, None] = {}

    def know(self, paths: Iterable[str]) -> None:
        """Files of the stacks seen: code that Ray sent by value is of no module that the worker has loaded."""
        self._seen.update(dict.fromkeys(paths))

    def all(self) -> list[Breakpoint]:
        row = self._worker.row
        return row.breakpoints if row is not None else []

    def of(self, path: str) -> list[Breakpoint]:
        return [one for one in self.all() if one.path == path]

    def numbered(self) -> list[Breakpoint]:
        return sorted(self.all(), key=lambda one: one.number)

    async def add(self, rest: str, current: str | None) -> Breakpoint:
        """``[FILE:]LINE [if COND]``; ``current``: the file of the selected frame. Raises UsageError, LiveError."""
        asked = breakpoint_of(rest)
        path = await self._path(asked.file, current)
        kept = [one for one in map(_asked, self.of(path)) if one.line != asked.line]
        made = await self._set(path, [*kept, SourceBreakpoint(line=asked.line, condition=asked.condition)])
        return made[-1]

    async def clear(self, rest: str) -> list[Breakpoint]:
        """Those removed. Raises UsageError, LiveError."""
        if rest == "all":
            gone = self.all()
        else:
            wanted = number(rest, "the number of a breakpoint, as :breaks shows it, or all")
            gone = [one for one in self.all() if one.number == wanted]
            if not gone:
                raise UsageError(f"there is no breakpoint {wanted}")
        for path in dict.fromkeys(one.path for one in gone):
            await self._set(path, [_asked(one) for one in self.of(path) if one not in gone])
        return gone

    async def _set(self, path: str, wanted: list[SourceBreakpoint]) -> list[Breakpoint]:
        """All of a file; as they are then, in the order asked for."""
        sent = [msgspec.to_builtins(one) for one in wanted]
        told = await self._worker.ask("setBreakpoints", path=path, breakpoints=sent)
        made = msgspec.convert(told["breakpoints"], list[Breakpoint])
        # The answer is faster than the row.
        with contextlib.suppress(asyncio.TimeoutError):
            await self._worker.live.until(lambda: self.of(path) == made, _ROW_S)
        return made

    async def _path(self, file: str | None, current: str | None) -> str:
        """The file where the worker runs: the whole path, or an end of it that only one loaded module has."""
        if file is None:
            if current is None:
                raise UsageError("name the file, as in train.py:120: no frame is selected")
            return current
        if file.startswith("/"):
            return file
        if current is not None and _ends(current, file):
            return current
        told = await self._worker.ask("modules", text=file, limit=200)
        paths = [*self._seen, *(one.path for one in self.all()), *(one["path"] for one in told["modules"])]
        found = list(dict.fromkeys(path for path in paths if _ends(path, file)))
        if len(found) == 1:
            return str(found[0])
        if not found:
            raise UsageError(f"the worker has loaded no file {file[:200]}; a whole path is taken as it is")
        raise UsageError("several files are meant: " + ", ".join(found[:_MOST_NAMED]))


def _ends(path: str, file: str) -> bool:
    return path == file or path.endswith("/" + file)


def _asked(one: Breakpoint) -> SourceBreakpoint:
    return SourceBreakpoint(
        line=one.line,
        condition=one.condition,
        hitCondition=one.hitCondition,
        logMessage=one.logMessage,
        enabled=one.enabled,
    )
