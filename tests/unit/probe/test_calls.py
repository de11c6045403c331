"""The probe as text: installed by an expression, called by one, answered in JSON."""

from __future__ import annotations

import ast
import json
import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raydebug import probe
from raydebug.probe import entry, frames, loops, sources

# What the stopped code may have named so.
SHADOWED: dict[str, Any] = dict.fromkeys(("type", "json", "sys", "exec", "str", "getattr", "hasattr_", "lambda_"), 5)


@pytest.fixture
def installed() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith(probe.NAME)]:
        del sys.modules[name]


def answered(expression: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(repr(eval(expression, dict(SHADOWED))))
    return found


def test_install_and_call(installed: None) -> None:
    assert answered(probe.call("modules"))["error"]["type"] == "NotInstalledError"
    assert eval(probe.bootstrap(), dict(SHADOWED)) is True
    assert eval(probe.bootstrap(), dict(SHADOWED)) is False
    found = answered(probe.call("modules", text="json.decoder"))
    assert found["value"]["modules"][0]["name"] == "json.decoder"
    # Its own lines are known to tracebacks.
    assert linecache.getline("<raydebug probe values>", 1).startswith('"""')
    assert answered(probe.call("children", reference=1))["error"]["type"] == "GoneError"
    assert answered(probe.call("children", nonsense=1))["error"]["type"] == "TypeError"
    with pytest.raises(ValueError, match="no function"):
        probe.call("os.system")


def test_a_half_installed_probe_is_taken_away(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {**probe._SOURCES, "values": "raise RuntimeError('half')"}
    monkeypatch.setattr(probe, "_SOURCES", broken)
    probe.bootstrap.cache_clear()
    try:
        with pytest.raises(RuntimeError, match="half"):
            eval(probe.bootstrap())
    finally:
        probe.bootstrap.cache_clear()
    assert not [name for name in sys.modules if name.startswith(probe.NAME)]


def test_the_text_survives_debugpy() -> None:
    # It replaces this mark by a line's end.
    expression = probe.call("evaluate", expression="'@LINE@' + 'é\\ud800\"'")
    assert "@LINE@" not in expression
    assert expression.isascii()
    assert "\n" not in probe.bootstrap()
    ast.parse(expression, mode="eval")
    ast.parse(probe.bootstrap(), mode="eval")


def test_every_function_is_known_on_both_sides() -> None:
    assert set(entry.FUNCTIONS) == probe.FUNCTIONS
    folder = Path(probe.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", *probe.MODULES}


def test_only_the_standard_library_and_cheap_parts_of_it() -> None:
    for name, source in probe._SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in node.names), name
            elif isinstance(node, ast.ImportFrom):
                inside = node.level == 1 and (node.module is None or node.module in probe.MODULES)
                assert inside or (node.level == 0 and str(node.module).split(".")[0] in sys.stdlib_module_names), name


@pytest.mark.parametrize(
    ("expression", "kind"),
    [("1/0", "ZeroDivisionError"), ("raise SystemExit", "SystemExit"), ("(", "SyntaxError"), ("a\0b", "SyntaxError")],
)
def test_no_exception_escapes(expression: str, kind: str) -> None:
    answer = json.loads(repr(entry.call("evaluate", json.dumps({"expression": expression}))))
    assert answer["ok"] is False
    assert answer["error"]["type"] in (kind, "ValueError")
    if expression == "1/0":
        assert "probe/entry" not in answer["error"]["traceback"]


def test_an_answer_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(entry.FUNCTIONS, "state", lambda: "x" * 1_000_001)
    assert json.loads(repr(entry.call("state")))["error"]["type"] == "TooLargeError"
    monkeypatch.setitem(entry.FUNCTIONS, "state", lambda: {"n": float("nan")})
    assert json.loads(repr(entry.call("state")))["error"]["type"] == "ValueError"
    answer = entry.Answer("{}")
    assert [repr(answer), repr(answer)] == ["{}", "<read already>"]


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert json.loads(entry.dumped(["\ud800", "😀", {"\udc00": 1}])) == ["\ufffd", "😀", {"\ufffd": 1}]


def test_statements_and_expressions() -> None:
    assert frames.evaluate("probe_value = 40")["result"] == ""
    assert frames.evaluate("probe_other = 1; probe_value")["result"] == "40"
    assert frames.evaluate("def f():\n    return 'é'\n\nf() + 'x'  # a comment")["result"] == "'éx'"
    found = frames.evaluate("  [probe_value + 2]")
    assert found["result"] == "[42]"
    assert frames.evaluate("def f():\n    return 7\n")["type"] == ""
    assert frames.evaluate("f()")["result"] == "7"
    frames._console.pop("probe_value")


def boom(secret: int) -> int:
    inner = [secret]
    return inner[5]


def caught() -> BaseException:
    try:
        boom(42)
    except IndexError as error:
        return error
    raise AssertionError


def test_frames_of_an_exception() -> None:
    about = frames.about(caught())
    assert [frame["name"].rpartition(".")[2] for frame in about["frames"]] == ["boom", "caught"]
    top = about["frames"][0]
    assert Path(top["path"]).name == "test_calls.py"
    names = {v["name"]: v["value"] for v in frames.scope(top["id"])["variables"]}
    assert names == {"secret": "42", "inner": "[42]"}
    assert frames.evaluate("[n + secret for n in inner]", top["id"])["result"] == "[84]"
    frames.evaluate("secret = 7; fresh = 8", top["id"])
    assert frames.evaluate("secret", top["id"])["result"] == "7"
    with pytest.raises(frames.NoFrameError):
        frames.scope(17)
    assert "scopes" in frames.scopes(top["id"])


def test_the_chain_of_an_exception() -> None:
    try:
        try:
            boom(1)
        except IndexError as error:
            raise RuntimeError("outer") from error
    except RuntimeError:
        found = frames.exception()
    assert found is not None
    assert (found["type"], found["cause"]) == ("RuntimeError", "IndexError: list index out of range")
    assert found["chain"] == [{"link": "cause", "type": "IndexError", "message": "list index out of range"}]
    loop = ValueError("a")
    other = ValueError("b")
    loop.__context__, other.__context__ = other, loop
    assert len(frames.about(loop)["chain"]) == 1

    class BadError(Exception):
        def __str__(self) -> str:
            raise KeyError

    assert frames.about(BadError())["message"] == "<its str raised KeyError>"
    assert frames.exception() is None


def test_no_loop_no_tasks() -> None:
    assert loops.async_tasks() == {"tasks": [], "total": 0}


async def test_the_tasks_of_this_loop() -> None:
    found = loops.async_tasks()["tasks"]
    assert found[0]["state"] == "current"
    assert found[0]["coroutine"].endswith("test_the_tasks_of_this_loop")


def test_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "probe_sample.py"
    path.write_bytes(b"# coding: latin-1\nname = '\xe9'\n\n\ndef f():\n    return 1\n")
    with pytest.raises(sources.NotLoadedError):
        sources.read(str(path))
    assert sources.read(str(path), any_file=True)["lines"] == 6
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("probe_sample")
    found = sources.read(str(path))
    assert "name = 'é'" in found["text"]
    assert found["breakable"] == [2, 5, 6] or found["breakable"] == [1, 2, 5, 6]
    assert not found["changed"]
    path.write_text("# coding: latin-1\n\ndef f():\n    return 2\n")
    assert sources.read(str(path))["changed"]
    path.write_text("def f(:\n")
    found = sources.read(str(path))
    assert (found["changed"], found["breakable"]) == (True, [])
    path.unlink()
    linecache.clearcache()
    with pytest.raises(FileNotFoundError):
        sources.read(str(path))
    monkeypatch.setattr(sources, "MOST_BYTES", 100)
    assert sources.read(str(Path(__file__)), any_file=True)["clipped"] > 1000
    with pytest.raises(FileNotFoundError):
        sources.read("/dev/zero", any_file=True)


def test_modules_best_first() -> None:
    found = sources.modules("json")
    assert found["modules"][0]["name"] == "json"
    assert found["total"] >= len(found["modules"])
    assert sources.modules(limit=1)["total"] > 50


def test_what_cant_be_parsed_has_no_stack() -> None:
    with pytest.raises(SyntaxError) as error:
        compile("(1+", "<console>", "eval")
    assert frames.printed(error.value).startswith('  File "<console>", line 1')
