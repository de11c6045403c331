"""What a program prints comes in pieces: the beginning of a line waits for its end, but not for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

WAIT_S: Final = 0.3


class Pieces:
    """``put`` is called with kind and whole lines."""

    def __init__(self, put: Callable[[str, str], None]) -> None:
        self._put: Final = put
        self._kind = ""
        self._rest = ""
        self._cut = False

    def add(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self.end()
            self._cut = False
        if self._cut:
            # The line was ended for it already.
            text = text.removeprefix("\n")
            self._cut = False
        whole, newline, self._rest = (self._rest + text).rpartition("\n")
        self._kind = kind
        if newline:
            self._put(kind, whole)
        if self._rest:
            asyncio.get_running_loop().call_later(WAIT_S, self.end)

    def end(self) -> None:
        """Something else is said now."""
        rest, self._rest = self._rest, ""
        if rest:
            self._put(self._kind, rest)
            self._cut = True
