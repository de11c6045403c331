"""The examples of docs/debugger.md are the demo's: their names are there, and the line is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from raydebug.cli.console.parse import breakpoint_of
from raydebug.demo.options import Point

ROOT = Path(__file__).parents[3]
DOCS = (ROOT / "docs/debugger.md").read_text()
WORKERS = (ROOT / "backend/raydebug/demo/workers.py").read_text()


def names(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


def update_actor() -> ast.FunctionDef:
    (found,) = (
        node
        for node in ast.walk(ast.parse(WORKERS))
        if isinstance(node, ast.FunctionDef) and node.name == "update_actor"
    )
    return found


def test_the_expressions_are_of_the_frame_that_stops() -> None:
    evaluated = re.findall(r"^raydebug eval '(.+?)' --on actor_rollout", DOCS, re.MULTILINE)
    assert len(evaluated) == 3
    known = {node.id for node in ast.walk(update_actor()) if isinstance(node, ast.Name)} | {"self"}
    assert set().union(*map(names, evaluated)) <= known
    for point in re.findall(r"--breakpoint (\S+?)[ `]", DOCS):
        Point.parse(point)


def test_the_breakpoint_is_behind_the_loss() -> None:
    (found,) = re.findall(r"^:break (.+)$", DOCS, re.MULTILINE)
    point = breakpoint_of(found)
    assert point.file == "workers.py"
    assert "measured.append(" in WORKERS.splitlines()[point.line - 1]
    assert names(point.condition or "") == {"index"}
