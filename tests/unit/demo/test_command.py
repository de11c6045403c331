from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from raydebug.demo import command
from raydebug.demo.options import Options, Point


def run(*argv: str) -> Result:
    return CliRunner().invoke(command.demo, list(argv))


def test_point() -> None:
    assert Point.parse("12:3") == Point(12, 3)
    assert str(Point(12, 3)) == "12:3"


@pytest.mark.parametrize(
    "text", ["", "3", "3:", ":1", "a:1", "1:b", "1:-1", "-1:0", "1:2:3", "0:1", "1.5:0", "¹:0", " 1:0"]
)
def test_bad_point(text: str) -> None:
    with pytest.raises(ValueError, match=r"STEP:RANK|count from 1"):
        Point.parse(text)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("--breakpoint", "x"), "'x' is not STEP:RANK"),
        (("--breakpoint", "1:2"), "ranks are 0 to 1"),
        (("--crash", "0:1"), "steps count from 1"),
        (("--crash", "1:1", "--crash", "9:1", "--steps", "8"), "ends after step 8"),
        (("--breakpoint", "1:4", "--ranks", "4"), "ranks are 0 to 3"),
        (("--ranks", "1"), "--ranks"),
        (("--steps", "0"), "--steps"),
        (("--seed", "-1"), "--seed"),
    ],
)
def test_bad_usage(argv: tuple[str, ...], told: str) -> None:
    result = run(*argv)
    assert result.exit_code == 2
    assert told in result.output


def test_options_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(command, "_train", lambda options, address: seen.append((options, address)))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    argv = "--steps 5 --ranks 3 --seed 7 --address h:1 --breakpoint 1:1 --breakpoint 2:0 --crash 5:2 --declare-steps"
    assert run(*argv.split()).exit_code == 0
    points = frozenset({Point(1, 1), Point(2, 0)})
    assert seen == [
        (
            Options(steps=5, ranks=3, seed=7, breakpoints=points, crashes=frozenset({Point(5, 2)}), declare_steps=True),
            "h:1",
        ),
    ]


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run("--steps", "1")
    assert result.exit_code == 2
    assert "pip install torch==2.13.0" in result.output
    assert "raydebug[demo]" in result.output
    assert "Traceback" not in result.output


def test_import_brings_in_neither_torch_nor_ray() -> None:
    code = "import sys, raydebug.demo.command; print(*{'torch', 'ray', 'numpy'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == ""
