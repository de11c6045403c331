"""The breakpoints of a session: as they are wanted, and what debugpy made of them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from raydebug.api.debug import Breakpoint, SourceBreakpoint
from raydebug.dap.bodies import Id, MadeBreakpoint, clipped
from raydebug.hub.debugger import conditions

TRACED_FILTERS = frozenset({"raised", "userUnhandled"})
"""Exception filters for which each frame must be traced."""

_MODES = {"raised": "always", "uncaught": "unhandled", "userUnhandled": "userUnhandled"}
_ALL = {"names": ["Python Exceptions"]}


class Wanted(msgspec.Struct):
    """``lines``: path -> its breakpoints. ``filters``: of exceptions; uncaught from the start, or a post-mortem would
    pass unseen. ``types``: exceptions that stop when they are raised, ``ValueError`` or ``module.Error``. ``mark``: in
    what log messages begin with on their way here. ``numbers``: of each of ``lines``; ``last``: the last one given."""

    lines: dict[str, list[SourceBreakpoint]] = {}
    functions: list[str] = []
    filters: list[str] = msgspec.field(default_factory=lambda: ["uncaught"])
    types: list[str] = []
    mark: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    numbers: dict[str, list[int]] = {}
    last: int = 0


class FileTold(msgspec.Struct):
    """What the worker says of a file: why no breakpoint can be in it, else how many lines it has."""

    problem: str | None = None
    lines: Id | None = None

    def problem_at(self, line: int) -> str | None:
        """Why no breakpoint can be at this line."""
        if self.problem is None and self.lines is not None and line > self.lines:
            return f"The file has {self.lines} lines."
        return clipped(self.problem, 1000) if self.problem is not None else None


class Breakpoints:
    def __init__(self, wanted: Wanted | None = None, rows: Sequence[Breakpoint] = ()) -> None:
        """``rows``: as they were last, of each of the wanted; they are shown until debugpy has answered again."""
        self.wanted = wanted or Wanted()
        self._files: dict[str, FileTold] = {}
        self._problems: dict[str, list[str | None]] = {}
        """For each that is wanted, why debugpy isn't asked for it."""
        self.run_to: tuple[str, int] | None = None
        """A line at which the next stop is wanted, once."""
        self._rows: dict[str, list[Breakpoint]] = {}
        self._asked: dict[str, list[SourceBreakpoint]] = {}
        """For each of the rows."""
        self._by_id: dict[int, tuple[str, int]] = {}
        self._logging: list[tuple[str, int]] = []
        """The row of each number in a mark."""
        for path, lines in self.wanted.lines.items():
            if len(of_path := [row for row in rows if row.path == path]) == len(lines):
                self._rows[path], self._asked[path] = of_path, lines
        self._marked = re.compile(rf"\x02{re.escape(self.wanted.mark)}:(\d{{1,9}})\x03")
        for path in self.wanted.lines:
            self._judge(path)

    @property
    def need_tracing(self) -> bool:
        wanted = self.wanted
        lines = any(one.enabled and not problem for path in wanted.lines for one, problem in self._judged(path))
        exceptions = wanted.types or TRACED_FILTERS & set(wanted.filters)
        return bool(lines or wanted.functions or self.run_to or exceptions)

    def exception_request(self) -> dict[str, Any]:
        """DAP's setExceptionBreakpoints. Beside options for types debugpy ignores filters, so they become options then;
        it holds one of all exceptions, so of several filters the widest that a post-mortem survives."""
        wanted = self.wanted
        if not wanted.types:
            return {"filters": wanted.filters}
        modes = [_MODES[one] for one in ("raised", "uncaught", "userUnhandled") if one in wanted.filters]
        every = [{"path": [_ALL], "breakMode": mode} for mode in modes[:1]]
        some = [{"path": [_ALL, {"names": [name]}], "breakMode": "always"} for name in wanted.types]
        return {"filters": [], "exceptionOptions": every + some}

    def rows(self) -> list[Breakpoint]:
        return [row for path in sorted(self._rows) for row in self._rows[path]]

    def set_lines(self, path: str, wanted: list[SourceBreakpoint]) -> None:
        numbers = self._numbers(path, wanted)
        if wanted:
            self.wanted.lines[path], self.wanted.numbers[path] = wanted, numbers
        else:
            self.wanted.lines.pop(path, None)
            self.wanted.numbers.pop(path, None)
        self._judge(path)

    def _numbers(self, path: str, wanted: list[SourceBreakpoint]) -> list[int]:
        """What is still the same breakpoint keeps its number: as it was asked for, or at its line, or at the line to
        which debugpy moved it."""
        before = self.wanted.lines.get(path, [])
        left = dict(zip(self.wanted.numbers.get(path, []), before, strict=False))
        shown = {row.number: row.line for row in self._rows.get(path, [])}
        found: dict[int, int] = {}
        ways: tuple[Callable[[SourceBreakpoint, SourceBreakpoint, int], bool], ...] = (
            lambda one, old, number: one == old,
            lambda one, old, number: one.line == shown.get(number),
            lambda one, old, number: one.line == old.line,
        )
        for same in ways:
            for at, one in enumerate(wanted):
                number = next((number for number, old in left.items() if same(one, old, number)), None)
                if at not in found and number is not None:
                    found[at] = number
                    del left[number]
        for at in range(len(wanted)):
            if at not in found:
                self.wanted.last += 1
                found[at] = self.wanted.last
        return [found[at] for at in range(len(wanted))]

    def learn(self, path: str, file: FileTold) -> None:
        """What the worker says of the file."""
        self._files[path] = file
        self._judge(path)

    def _judge(self, path: str) -> None:
        points = self.wanted.lines.get(path)
        if points is None:
            self._problems.pop(path, None)
            self._files.pop(path, None)
            return
        file = self._files.get(path, FileTold())
        self._problems[path] = [conditions.problem_of(one) or file.problem_at(one.line) for one in points]

    def _judged(self, path: str) -> list[tuple[SourceBreakpoint, str | None]]:
        return list(zip(self.wanted.lines.get(path, []), self._problems.get(path, []), strict=True))

    def request(self, path: str) -> dict[str, Any]:
        """DAP's setBreakpoints for a file: those that are enabled and can be, and the line that is run to."""
        sent: list[dict[str, Any]] = [
            {
                "line": one.line,
                **({"condition": one.condition} if one.condition else {}),
                **({"hitCondition": conditions.hits(one.hitCondition)} if one.hitCondition else {}),
                **({"logMessage": self._mark(path, row) + conditions.logged(one.logMessage)} if one.logMessage else {}),
            }
            for row, (one, problem) in enumerate(self._judged(path))
            if one.enabled and not problem
        ]
        if self.run_to is not None and self.run_to[0] == path:
            sent.append({"line": self.run_to[1]})
        return {"source": {"path": path}, "breakpoints": sent}

    def _mark(self, path: str, row: int) -> str:
        """debugpy tells what a breakpoint logs as if the program had printed it."""
        if (path, row) not in self._logging:
            self._logging.append((path, row))
        return f"\x02{self.wanted.mark}:{self._logging.index((path, row))}\x03"

    def logged(self, printed: str) -> str | None:
        """The text that a breakpoint logged; None if it is what the program printed."""
        marked = self._marked.match(printed)
        if marked is None:
            return None
        number = int(marked[1])
        if number < len(self._logging):
            self._count(*self._logging[number])
        return printed[marked.end() :]

    def answered(self, path: str, told: Sequence[MadeBreakpoint]) -> None:
        """Take debugpy's answer to :meth:`request`."""
        made = list(told)
        asked, self._asked[path] = self._asked.get(path, []), self.wanted.lines.get(path, [])
        before = {one: row.hits for one, row in zip(asked, self._rows.get(path, []), strict=False)}
        self._by_id = {number: at for number, at in self._by_id.items() if at[0] != path}
        rows: list[Breakpoint] = []
        numbers = self.wanted.numbers.get(path, [])
        for at, (one, problem) in enumerate(self._judged(path)):
            got = made.pop(0) if one.enabled and not problem and made else MadeBreakpoint(message=problem)
            if got.id is not None:
                self._by_id[got.id] = (path, len(rows))
            rows.append(
                Breakpoint(
                    path=path,
                    line=(got.line or one.line) if got.verified else one.line,
                    condition=one.condition,
                    hitCondition=one.hitCondition,
                    logMessage=one.logMessage,
                    enabled=one.enabled,
                    verified=got.verified,
                    message=clipped(got.message) if got.message else None,
                    hits=before.get(one, 0),
                    number=numbers[at] if at < len(numbers) else 0,
                )
            )
        if rows:
            self._rows[path] = rows
        else:
            self._rows.pop(path, None)
            self._asked.pop(path, None)

    def hit(self, ids: list[int]) -> None:
        for number in ids:
            self._count(*self._by_id.get(number, ("", 0)))

    def _count(self, path: str, at: int) -> None:
        rows = self._rows.get(path, [])
        if at < len(rows):
            rows[at] = msgspec.structs.replace(rows[at], hits=rows[at].hits + 1)
