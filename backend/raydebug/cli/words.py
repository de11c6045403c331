"""Words for terminals: ages, ranks, and names that come from user code."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def clean(text: str) -> str:
    """``text`` on one line, with what a terminal would obey shown instead: an actor may be named ``\\x1b[2J``.

    Control characters, but also those that reorder what follows (bidirectional marks), and lone surrogates, which
    can't be printed.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char) if unicodedata.category(char) in _UNSAFE else char for char in text)


def _visible(char: str) -> str:
    return char.encode("unicode_escape").decode()


def age(ns: int) -> str:
    """``2m 14s``: two units at most, nothing below a second."""
    seconds = max(0, ns) // 1_000_000_000
    for size, unit, small_size, small in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            rest = seconds % size // small_size
            return f"{seconds // size}{unit} {rest}{small}" if rest else f"{seconds // size}{unit}"
    return f"{seconds}s"


def span(numbers: Iterable[int]) -> str:
    """``0-3,7``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def count(number: int, word: str) -> str:
    """``1 rank``, ``2 ranks``; ``words`` ending in s get ``es``."""
    plural = word + ("es" if word.endswith("s") else "s")
    return f"{number:,} {word if number == 1 else plural}"


def first_line(text: str | None) -> str:
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
