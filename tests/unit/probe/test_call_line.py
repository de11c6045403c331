"""Which line of a function called ``breakpoint()``, where a debugger may stop behind that."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

import pytest

from raydebug.probe.threads import call_line

CODE = """
def plain():
    here = 1
    breakpoint()

    # two lines between
    stop()
    return here

def looped(items):
    while True:
        stop()
        breakpoint()  # the only one, below

def two():
    stop()
    breakpoint()
    stop()
    pdb.set_trace(); stop()
    pass

def split():
    breakpoint(
        1,
        2)
    stop()

def none():
    inner = lambda: breakpoint()
    stop()
"""


def lines_of(name: str) -> list[int | None]:
    """What is told at each call of ``stop`` in a function."""
    found: list[int | None] = []

    def stop() -> None:
        frame: types.FrameType = sys._getframe(1)
        found.append(call_line(frame))
        if name == "looped":
            raise StopIteration

    names: dict[str, Any] = {
        "stop": stop,
        "breakpoint": lambda *_: None,
        "pdb": types.SimpleNamespace(set_trace=lambda: None),
    }
    exec(compile(CODE, "<jobs>", "exec"), names)
    with contextlib.suppress(StopIteration):
        names[name](*([[]] if name == "looped" else []))
    return found


@pytest.mark.parametrize(
    ("name", "lines"),
    [("plain", [4]), ("looped", [13]), ("two", [None, 17, 19]), ("split", [23]), ("none", [None])],
)
def test_the_line_of_the_call(name: str, lines: list[int | None]) -> None:
    assert lines_of(name) == lines
