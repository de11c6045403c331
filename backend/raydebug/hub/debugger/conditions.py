"""What a breakpoint is made to depend on, read before debugpy gets it: it takes anything for good, and a condition that
is no Python would stop always, a count that is none never."""

from __future__ import annotations

import re
import warnings
from typing import Final

from raydebug.api.debug import SourceBreakpoint

_HITS: Final = re.compile(r"\s*(==|>=|<=|>|<|%)?\s*(\d{1,18})\s*(?:(==)\s*(\d{1,18})\s*)?", re.ASCII)
_SHOWN: Final = 80


def problem_of(point: SourceBreakpoint) -> str | None:
    """Why it can't be set as it is; None: it can."""
    try:
        if point.condition:
            _expression(point.condition, "The condition")
        if point.hitCondition:
            hits(point.hitCondition)
        if point.logMessage:
            logged(point.logMessage)
    except ValueError as error:
        return str(error)
    return None


def hits(text: str) -> str:
    """A hit count in pydevd's words. Raises ValueError."""
    read = _HITS.fullmatch(text)
    expected = f"The hit count {_quoted(text)} isn't one: a number was expected, or such as >= 5, % 3, % 3 == 1."
    if read is None:
        raise ValueError(expected)
    sign, number, equals, rest = read[1] or "==", int(read[2]), read[3], int(read[4] or 0)
    if (equals and sign != "%") or (sign == "%" and rest >= max(number, 1)):
        raise ValueError(expected)
    if number == 0 and sign in ("==", "%", "<", "<="):
        raise ValueError(f"The hit count {_quoted(text)} never comes: hits count from 1.")
    return f"@HIT@ % {number} == {rest}" if sign == "%" else f"@HIT@ {sign} {number}"


def logged(message: str) -> str:
    """A log message as debugpy understands it. Raises ValueError.

    Debugpy writes it with Python's ``%``, and each of its expressions as a part of a tuple.
    """
    parts: list[str] = []
    at, found = 0, False
    while (begin := message.find("{", at)) >= 0:
        parts.append(message[at:begin])
        end = _end(message, begin)
        if expression := message[begin + 1 : end - 1].strip():
            _expression(expression, "In the log message")
            parts.append(f"{{({expression})}}")
            found = True
        at = end
    parts.append(message[at:])
    if found:
        parts = [part if part.startswith("{(") else part.replace("%", "%%") for part in parts]
    return "".join(parts)


def _end(message: str, begin: int) -> int:
    """After the brace that closes the one at ``begin``, as debugpy counts them: those in strings, too."""
    depth = 0
    for at in range(begin, len(message)):
        depth += {"{": 1, "}": -1}.get(message[at], 0)
        if depth == 0:
            return at + 1
    raise ValueError(f"In the log message the brace at {_quoted(message[begin:])} isn't closed.")


def _expression(text: str, where: str) -> None:
    """Raises ValueError if it isn't a Python expression. Ray demands one Python for the whole cluster: ours is the
    worker's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # In parentheses, too: what only closes and opens again isn't one, nor what ends in a comment.
            for written in (text.strip(), f"({text.strip()})"):
                compile(written, "<condition>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        why = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ValueError(f"{where} {_quoted(text)} isn't a Python expression: {why}.") from None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
