"""The terminal: lines that come while somebody types, and the lines typed."""

from __future__ import annotations

import io
import os
import select
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from rich.text import Text

from raydebug.cli.screen import console, fits_utf8, show, width_of
from raydebug.cli.words import clean

_CLEAR_LINE: Final = "\r\x1b[K"
_WORDS: Final = " \t\n`~!@#$%^&*()-=+[{]}\\|;'\",<>/?"
"""What ends a word that is completed: not the dot, nor the colon before a command."""

_MOST_REST: Final = 1 << 20
"""Bytes of a pipe that are read ahead for their lines' number: some pipes never end."""

Complete = Callable[[str, str], list[str]]
"""From the line up to the cursor and its last word: what the word may become."""


class Paper:
    """Output. Lines may come from another thread while a prompt stands: it is drawn again below them."""

    def __init__(self) -> None:
        self._out: Final = console()
        self.utf8: Final = fits_utf8(self._out)
        self._lock: Final = threading.Lock()
        self._prompt: str | None = None
        self._typed: Callable[[], str] = str
        self.broken: OSError | None = None
        """Why nothing can be shown any more: told by whoever reads the lines, for others may have no one to tell."""

    @property
    def width(self) -> int | None:
        return width_of(self._out)

    def put(self, *lines: Text | str) -> None:
        self.put_all(Text(line) if isinstance(line, str) else line for line in lines)

    def put_all(self, lines: Iterable[Text]) -> None:
        with self._lock:
            if self.broken is not None:
                return
            try:
                if self._prompt is not None:
                    self._raw(_CLEAR_LINE)
                show(self._out, lines)
                if self._prompt is not None:
                    self._raw(self._prompt + self._typed())
                self._out.file.flush()
            except OSError as error:
                self.broken = error

    def prompt(self, text: str | None, typed: Callable[[], str] = str) -> None:
        """From now on this prompt stands at the bottom, and what ``typed`` gives behind it; None: none."""
        with self._lock:
            self._prompt, self._typed = text, typed

    def _raw(self, text: str) -> None:
        self._out.file.write(text)


class Reader:
    """Input. On a terminal with readline's history and completion; of a pipe each line is shown as if it were typed,
    so that what comes out reads as a session does."""

    def __init__(self, paper: Paper, complete: Complete) -> None:
        self.piped: Final = not (sys.stdin.isatty() and sys.stdout.isatty())
        self._echoed: Final = sys.stdin.isatty()
        """By the terminal, whatever becomes of the output."""
        self._paper: Final = paper
        self._readline: Any = None
        if not self.piped:
            self._set_up(complete)

    def _set_up(self, complete: Complete) -> None:
        try:
            import readline
        except ImportError:
            return  # a Python without it: no history, no completion
        self._readline = readline
        found: list[str] = []

        def completer(word: str, state: int) -> str | None:
            nonlocal found
            if state == 0:
                found = complete(readline.get_line_buffer()[: readline.get_endidx()], word)
            return found[state] if state < len(found) else None

        readline.set_completer_delims(_WORDS)
        readline.set_completer(completer)
        readline.parse_and_bind("tab: complete")

    def read(self, prompt: str) -> str | None:
        """The next line, without its end; None at the end of the input."""
        if self.piped:
            line = sys.stdin.readline()
            if not line:
                return None
            line = line.rstrip("\n")
            if not self._echoed:
                self._paper.put(f"{prompt}{clean(line.expandtabs(8))}".rstrip())
            return line
        typed = self._readline.get_line_buffer if self._readline else str
        self._paper.prompt(prompt, typed)
        try:
            return input(prompt)
        except EOFError:
            return None
        finally:
            self._paper.prompt(None)

    def rest(self) -> list[str]:
        """The lines of a pipe that nobody has read, as far as they are there: whoever writes it may keep it open."""
        if not self.piped or self._echoed:
            return []
        try:
            stdin = sys.stdin.fileno()
        except io.UnsupportedOperation:  # no file
            return sys.stdin.read().splitlines()
        with tempfile.TemporaryFile() as there:
            while there.tell() < _MOST_REST and select.select([stdin], [], [], 0)[0]:
                if not (piece := os.read(stdin, 1 << 16)):
                    break
                there.write(piece)
            there.seek(0)
            # Behind what Python has read ahead, which only it can give.
            os.dup2(there.fileno(), stdin)
            return sys.stdin.read().splitlines()
