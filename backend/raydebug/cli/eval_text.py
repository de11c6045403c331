"""What ``raydebug eval`` and ``raydebug continue`` print: a line for each rank, the odd ones marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from rich.text import Text

from .screen import data, fit, shorten
from .words import count

_LEAST_FOR_ODD = 3
_LONGEST_NAME = 32
_MOST_TRACEBACK = 30


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it on one worker (in one of its threads)."""

    worker_id: str
    rank: int | None
    label: str
    ok: bool
    group: str | None = None
    thread: str | None = None
    value: str | None = None
    type: str | None = None
    error: str | None = None
    traceback: str = ""
    took_ms: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The fields that are held stable; ``thread`` where each thread was asked."""
        row: dict[str, Any] = {
            "worker_id": self.worker_id,
            "rank": self.rank,
            "ok": self.ok,
            "value": self.value,
            "type": self.type,
            "error": self.error,
        }
        return row if self.thread is None else {**row, "thread": self.thread}


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """How many threads of a worker went on, and whether its session was ended."""

    worker_id: str
    rank: int | None
    label: str
    ok: bool
    threads: int
    detached: bool = False
    group: str | None = None
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "worker_id": self.worker_id,
            "rank": self.rank,
            "ok": self.ok,
            "threads": self.threads,
            "detached": self.detached,
            "error": self.error,
        }


def odd_ones(rows: Sequence[Evaluated]) -> set[int]:
    """Indices of the rows whose value isn't what most have; none without a majority."""
    values = Counter((row.value, row.type) for row in rows if row.ok)
    if values.total() < _LEAST_FOR_ODD:
        return set()
    most, number = values.most_common(1)[0]
    if number * 2 <= values.total():
        return set()
    return {index for index, row in enumerate(rows) if row.ok and (row.value, row.type) != most}


def eval_lines(rows: Sequence[Evaluated], width: int | None) -> list[Text]:
    odd = odd_ones(rows)
    head = ["rank", *(["thread"] if any(row.thread is not None for row in rows) else []), "value", "type", "took"]
    table = [[Text(word, style="dim") for word in head]]
    several = len({row.group for row in rows}) > 1
    for index, row in enumerate(rows):
        cells = [_who(row, several)]
        if "thread" in head:
            cells.append(data(shorten(row.thread or "", _LONGEST_NAME)))
        if row.ok:
            value = data(row.value or "", "bold yellow" if index in odd else "")
            kind = data(shorten(row.type or "", _LONGEST_NAME), "dim")
        else:
            value, kind = data(row.error or "", "red"), Text("error", style="red")
        if index in odd:
            kind.append("  odd", style="bold yellow")
        cells += [value, kind, Text(_took(row.took_ms))]
        table.append(cells)
    lines = fit(aligned(table, width, head.index("value")), width)
    if len(rows) == 1 and rows[0].traceback.strip():
        shown = rows[0].traceback.rstrip().splitlines()[-_MOST_TRACEBACK:]
        lines += [Text(""), *(data(line.rstrip()) for line in shown)]
    return lines


def aligned(table: Sequence[Sequence[Text]], width: int | None, wide: int) -> list[Text]:
    """The cells below each other; the column ``wide`` is cut where the terminal is too narrow for all."""
    widths = [max(row[column].cell_len for row in table) for column in range(len(table[0]))]
    if width is not None:
        others = sum(widths) - widths[wide] + 2 * (len(widths) - 1)
        widths[wide] = min(widths[wide], max(width - others, 16))
    else:
        # A pipe has room, but one long value should not push the others' ends far away.
        widths[wide] = min(widths[wide], 60)
    lines = []
    for row in table:
        line = Text()
        for column, cell in enumerate(row):
            shown = cell.copy()
            if width is not None and column == wide and shown.cell_len > widths[column]:
                shown.truncate(widths[column], overflow="ellipsis")
            line.append_text(shown)
            if column < len(row) - 1:
                line.append(" " * (max(0, widths[column] - shown.cell_len) + 2))
        line.rstrip()
        lines.append(line)
    return lines


def _who(row: Evaluated | Resumed, several: bool) -> Text:
    if row.rank is None or several:
        return data(shorten(row.label, _LONGEST_NAME))
    return Text(str(row.rank))


def _took(took_ms: float | None) -> str:
    if took_ms is None:
        return ""
    return f"{took_ms:.0f} ms" if took_ms < 10_000 else f"{took_ms / 1000:.0f} s"


def resumed_lines(rows: Sequence[Resumed], detached: bool, width: int | None) -> list[Text]:
    threads, workers = sum(row.threads for row in rows), sum(bool(row.threads) for row in rows)
    left = sum(row.detached and not row.threads for row in rows)
    lines = []
    if threads:
        words = f"{count(threads, 'thread')} of {count(workers, 'worker')} went on"
        lines.append(Text(words + ("; detached" if detached else "")))
    if left:
        lines.append(Text(f"detached from {count(left, 'worker')} where nothing was stopped"))
    if not lines and all(row.ok for row in rows):
        lines.append(Text("nothing was stopped there"))
    for row in rows:
        if row.error is not None:
            lines.append(data(f"{row.label}: ") + data(row.error, "red"))
    return fit(lines, width)
