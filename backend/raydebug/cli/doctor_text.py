"""The report of ``raydebug doctor`` for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from raydebug.api.doctor import Check

from .screen import data
from .words import clean, count

_WORDS = {"ok": "ok", "warning": "warning", "error": "error"}
_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red"}
_GLYPHS = {True: {"ok": "✓", "warning": "!", "error": "✗"}, False: {"ok": "+", "warning": "!", "error": "x"}}
_INDENT = 12
"""Where messages begin: after two blanks, a glyph and the longest level word."""
_LEAST = 40


def report_lines(
    checks: Sequence[Check], width: int | None, utf8: bool = True, titles: Mapping[str, str] | None = None
) -> list[Text]:
    """Grouped by where, in the order of first mention; ``width`` None: nothing is wrapped."""
    groups: dict[str, list[Check]] = {}
    for check in checks:
        groups.setdefault(check.where, []).append(check)
    lines: list[Text] = []
    for where, found in groups.items():
        lines.append(data((titles or {}).get(where, where), "bold"))
        for check in found:
            lines += _check(check, width, _GLYPHS[utf8][check.level])
        lines.append(Text(""))
    return [*lines, _closing(checks)]


def _check(check: Check, width: int | None, glyph: str) -> Iterator[Text]:
    style = _STYLES[check.level]
    first, *rest = _wrap(clean(check.message), width)
    head = Text("  ").append(f"{glyph} {_WORDS[check.level]}".ljust(_INDENT - 2), style=style)
    yield head.append(first)
    for line in rest:
        yield Text(" " * _INDENT + line)
    if check.fix:
        # Where all is well there is nothing to mend.
        word, style = ("hint: ", "dim") if check.level == "ok" else ("fix: ", "cyan")
        for index, line in enumerate(_wrap(word + clean(check.fix), width)):
            yield Text(" " * _INDENT + (" " * len(word) if index else "") + line, style=style)


def _wrap(text: str, width: int | None) -> list[str]:
    if width is None:
        return [text]
    # Commands are copied: never broken inside a word or at a hyphen.
    room = max(width - _INDENT - len("hint: "), _LEAST)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]


def _closing(checks: Sequence[Check]) -> Text:
    errors = sum(check.level == "error" for check in checks)
    warnings = sum(check.level == "warning" for check in checks)
    line = Text(f"{count(len(checks), 'check')}: ")
    line.append(count(errors, "error"), style=_STYLES["error"] if errors else "")
    line.append(", ")
    line.append(count(warnings, "warning"), style=_STYLES["warning"] if warnings else "")
    return line
