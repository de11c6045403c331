"""What a process prints, on its way to the console: in pieces of a size that can be shown, not in those that came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

GATHER_S: Final = 0.02
LINE_S: Final = 0.3
"""So long the rest of a line is waited for: a print comes in pieces."""
JOINED_CHARS: Final = 8192
MOST_CHARS: Final = 100_000
"""Of one entry."""


class Output:
    """``say`` is given kind and text of an entry."""

    def __init__(self, say: Callable[[str, str], Any]) -> None:
        self._say: Final = say
        self._parts: list[tuple[str, str]] = []
        self._missed = 0
        self._flushing = False
        self._waits = 0

    def add(self, category: str, text: str) -> None:
        if len(text) > MOST_CHARS:
            text = f"{text[:MOST_CHARS]}… ({len(text) - MOST_CHARS} more characters)\n"
        kind = category if category in ("stdout", "stderr") else "log"
        if self._parts and self._parts[-1][0] == kind and len(self._parts[-1][1]) < JOINED_CHARS:
            self._parts[-1] = (kind, self._parts[-1][1] + text)
        else:
            self._parts.append((kind, text))
        self._soon()

    def missed(self, count: int) -> None:
        """So many messages of debugpy never came."""
        if count > 0:
            self._missed += count
            self._soon()

    def _flush_lines(self) -> None:
        self._flushing = False
        last = self._parts[-1] if self._parts else ("", "\n")
        self._waits = 0 if last[0] == "log" or last[1].endswith("\n") else self._waits + 1
        if self._waits and self._waits * GATHER_S < LINE_S and len(last[1]) < JOINED_CHARS:
            self._say_parts(self._parts[:-1])
            self._parts = [last]
            self._soon()
        else:
            self.flush()

    def flush(self) -> None:
        """Say all there is, the beginnings of lines, too."""
        parts, self._parts = self._parts, []
        self._waits = 0
        self._say_parts(parts)

    def _say_parts(self, parts: list[tuple[str, str]]) -> None:
        missed, self._missed = self._missed, 0
        for kind, text in parts:
            if text.strip("\n"):
                self._say(kind, text)
        if missed:
            self._say("note", f"{missed} messages of debugpy were let go: more came than could be passed on.")

    def _soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_later(GATHER_S, self._flush_lines)
