"""Evaluation in a process that runs: which names it sees, and what it keeps."""

from __future__ import annotations

import sys
import time
from types import ModuleType
from typing import Any

import pytest

from raydebug.probe import beside


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program's main module."""
    made = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", made)
    monkeypatch.setattr(beside, "_console", {})
    return made


def evaluated(expression: str) -> Any:
    told = beside.start(expression, 10)
    while "ticket" in told:
        time.sleep(0.01)
        told = beside.poll(told["ticket"])
    return told["value"]["result"] if "value" in told else told["message"]


def test_the_programs_variables_are_those_of_now(main: Any) -> None:
    main.step = 1
    assert evaluated("step") == "1"
    main.step = 2
    assert evaluated("step") == "2"
    del main.step
    assert "step" in evaluated("step")


def test_what_is_set_is_kept_and_the_program_isnt_changed(main: Any) -> None:
    main.step = 1
    evaluated("mine = step + 10\ndef twice(): return mine * 2")
    assert evaluated("mine, twice()") == "(11, 22)"
    evaluated("step = 5")
    assert evaluated("step") == "5"
    assert main.step == 1
    assert not hasattr(main, "mine")
    evaluated("del step, mine")
    assert evaluated("step") == "1"
    assert "mine" in evaluated("mine")


def test_what_was_set_before_an_error_is_kept(main: Any) -> None:
    assert "zero" in evaluated("mine = 3; 1 / 0")
    assert evaluated("mine") == "3"
