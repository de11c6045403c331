"""A line of the console: a command (``:next``), one of pdb's letters alone, or Python to evaluate."""

from __future__ import annotations

import ast
import codeop
import difflib
import re
import warnings
from collections.abc import Collection
from typing import Final

import msgspec

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "next": ("", "run to the next line of this function"),
    "step": ("", "step into the call"),
    "out": ("", "run until this function returns"),
    "continue": ("", "let this thread go on"),
    "until": ("LINE", "run to this line of the current file"),
    "goto": ("LINE", "set the next statement, without running what lies between"),
    "pause": ("", "stop a running worker; native code, as a collective, has to return first"),
    "wait": ("[SECONDS]", "wait for the next stop"),
    "list": ("[LINE]", "source around the current line, or around LINE"),
    "stack": ("[N]", "the call stack: its N innermost frames, of themselves 100"),
    "up": ("", "to the caller's frame"),
    "down": ("", "to the callee's frame"),
    "frame": ("N", "to frame N of the stack"),
    "locals": ("", "the frame's variables"),
    "p": ("EXPR", "evaluate EXPR, as plain text does"),
    "set": ("NAME = VALUE", "set a variable"),
    "live": ("EXPR", "evaluate beside the program, without a frame, also while it runs"),
    "break": ("[FILE:]LINE [if COND]", "set a breakpoint"),
    "breaks": ("", "list the breakpoints"),
    "clear": ("N", "remove breakpoint N, or `all`"),
    "threads": ("", "list the threads"),
    "thread": ("N", "to thread N"),
    "tasks": ("", "the asyncio tasks of the stopped loop"),
    "detach": ("", "end the session: the worker runs on"),
    "quit": ("", "leave; the worker stays attached and stopped"),
    "help": ("", "this list"),
}
"""Name -> what it takes, what it does."""

LETTERS: Final[dict[str, str]] = {
    "n": "next",
    "s": "step",
    "c": "continue",
    "l": "list",
    "w": "stack",
    "u": "up",
    "d": "down",
    "p": "p",
    "q": "quit",
}
"""pdb's letters: commands when they are the whole line and the frame has no variable of that name."""

_MORE_NAMES: Final = {"b": "break", "h": "help", "where": "stack", "args": "locals", "cont": "continue", "jump": "goto"}
_ALL_NAMES: Final = {**LETTERS, **_MORE_NAMES}
_BREAK: Final = re.compile(r"(?:(?P<file>.+?):)?\s*(?P<line>\d+)\s*(?:(?:,|\bif\b)\s*(?P<condition>.+))?", re.DOTALL)


class UsageError(ValueError):
    """The line can't be understood; the message says what was expected."""


class Order(msgspec.Struct, frozen=True):
    """``name``: of COMMANDS, or ``evaluate``; empty for an empty line."""

    name: str
    rest: str = ""


class Break(msgspec.Struct, frozen=True):
    """``file`` None: the current one."""

    file: str | None
    line: int
    condition: str | None = None


def parse(line: str, variables: Collection[str] = ()) -> Order:
    """``variables``: names of the frame, which win over pdb's letters. Raises UsageError."""
    text = line.strip()
    if not text:
        return Order("")
    if text.startswith(":"):
        name, _, rest = text[1:].partition(" ")
        return Order(command_of(name), rest.strip())
    if text in LETTERS and text not in variables:
        return Order(LETTERS[text])
    if text.startswith("p ") and not _is_python(text):
        return Order("p", text[2:].strip())
    return Order("evaluate", line.rstrip("\n"))


def command_of(name: str) -> str:
    """The command of this name, of pdb's, or whose only beginning it is. Raises UsageError."""
    if name in COMMANDS:
        return name
    if name in _ALL_NAMES:
        return _ALL_NAMES[name]
    meant = [command for command in COMMANDS if name and command.startswith(name)]
    if len(meant) == 1:
        return meant[0]
    near = meant or difflib.get_close_matches(name, COMMANDS, 3)
    hint = f"; did you mean {', '.join(f':{one}' for one in near)}?" if near else "; :help lists them"
    raise UsageError(f":{name[:40]} isn't a command{hint}")


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def goes_on(text: str) -> bool:
    """Whether Python waits for more lines, as after ``for x in y:``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return codeop.compile_command(text, symbol="single") is None
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return False


def number(rest: str, what: str) -> int:
    """Raises UsageError."""
    if not rest.isdecimal():
        raise UsageError(f"expected {what}, not {rest[:60]!r}" if rest else f"expected {what}")
    return int(rest)


def breakpoint_of(rest: str) -> Break:
    """``FILE:LINE if COND``. Raises UsageError."""
    found = _BREAK.fullmatch(rest.strip())
    if found is None or int(found["line"]) < 1:
        raise UsageError("expected [FILE:]LINE [if COND], as in train.py:120 if step > 3")
    file, condition = found["file"], found["condition"]
    return Break(file.strip() if file else None, int(found["line"]), condition.strip() if condition else None)


def assignment(rest: str) -> tuple[str, str]:
    """``NAME = VALUE``: both as they were written. Raises UsageError."""
    wrong = UsageError("expected NAME = VALUE, as in lr = 0.1 or self.items[3] = None")
    try:
        body = ast.parse(rest.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong from None
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
        raise wrong
    name = ast.get_source_segment(rest.strip(), body[0].targets[0])
    value = ast.get_source_segment(rest.strip(), body[0].value)
    if not name or not value:
        raise wrong
    return name, value
