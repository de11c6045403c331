"""How the terminal views print: fitted to a terminal, and unwrapped where the output goes to a file or a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from .words import clean

STATE_STYLE = {
    "paused": "bold magenta",
    "failed": "bold red",
    "dead": "red",
    "pending": "yellow",
    "waiting": "yellow",
    "running": "green",
    "idle": "dim",
    "unknown": "dim",
}
"""In the order in which they need attention. Colour never stands alone: the word is always there."""


def console(file: IO[str] | None = None) -> Console:
    """Standard output. Nothing in it is read as markup, an emoji code or something to highlight."""
    file = file or sys.stdout
    if isinstance(file, io.TextIOWrapper):
        # A name may hold what a terminal's old encoding can't show; that must not end the command.
        file.reconfigure(errors="backslashreplace")
    return _Console(file=file, markup=False, emoji=False, highlight=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the thread, which needn't be the main one."""
        raise  # it is called while the error is handled


def fits_utf8(out: Console) -> bool:
    return out.encoding.lower().replace("-", "").startswith("utf")


def width_of(out: Console) -> int | None:
    """The columns to fit into; None where nobody looks at columns."""
    return out.width if out.is_terminal else None


def show(out: Console, lines: Iterable[Text]) -> None:
    for line in lines:
        out.print(line, soft_wrap=True)


def data(text: object, style: str = "") -> Text:
    """Something that came from user code."""
    return Text(clean(str(text)), style=style)


def row(*parts: Text | str | None, gap: str = "  ") -> Text:
    """The parts that are there, side by side."""
    shown = [Text(part) if isinstance(part, str) else part for part in parts if part is not None]
    return Text(gap).join(part for part in shown if part.plain)


def state_text(state: str, words: str = "") -> Text:
    return Text(words or state, style=STATE_STYLE.get(state, ""))


def fit(lines: Iterable[Text], width: int | None) -> list[Text]:
    """Each line on one line of the terminal, with an ellipsis where it was cut."""
    fitted = []
    for line in lines:
        if width is not None and line.cell_len > width:
            line = line.copy()
            line.truncate(width, overflow="ellipsis")
        fitted.append(line)
    return fitted


def shorten(text: str, length: int) -> str:
    """The middle left out: ends of names tell ranks and classes apart."""
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def watch(out: Console, draw: Callable[[int | None], list[Text]], wait: Callable[[], None]) -> None:
    """Draw again and again until Ctrl-C: in place on a terminal, one picture after the other elsewhere."""
    try:
        if not out.is_terminal:
            while True:
                show(out, [*draw(None), Text("")])
                out.file.flush()
                wait()
        with Live(console=out, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
            while True:
                live.update(_page(draw(out.width), out.height), refresh=True)
                wait()
    except KeyboardInterrupt:
        return


def _page(lines: list[Text], height: int) -> RenderableType:
    """As much as the terminal has room for, and how much is left out."""
    if len(lines) > height:
        lines = [*lines[: height - 1], Text(f"… {len(lines) - height + 1} more lines", style="dim")]
    return Group(*lines)
