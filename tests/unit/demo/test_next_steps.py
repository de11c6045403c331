from __future__ import annotations

from pathlib import Path

from raydebug.demo.next_steps import next_steps, program_of
from raydebug.demo.options import Options, Point

DEFAULT = "http://127.0.0.1:8265"


def commands(url: str, env: dict[str, str], **options: frozenset[Point]) -> list[str]:
    program = program_of("raydebug", "python", env)
    head, _, *lines = next_steps(url, Options(**options), env, program)  # type: ignore[arg-type]
    assert head == f"open {url}/debug"
    assert all(" # " in line for line in lines)
    return [line.partition("#")[0].strip() for line in lines]


def test_where_the_commands_look_by_themselves() -> None:
    assert commands(DEFAULT, {}) == ["raydebug url", "raydebug ps --ranks"]
    called = {"RAYDEBUG_DEMO_COMMAND": ".venv/bin/raydebug"}
    assert commands(DEFAULT, called)[0] == ".venv/bin/raydebug url"


def test_elsewhere_they_name_the_cluster() -> None:
    elsewhere = "RAYDEBUG_ADDRESS=http://10.0.0.1:9000 raydebug url"
    assert commands("http://10.0.0.1:9000", {})[0] == elsewhere
    # Where the environment leads to another one.
    for name in ("RAYDEBUG_ADDRESS", "RAY_ADDRESS"):
        assert commands(DEFAULT, {name: "10.0.0.1:6379"})[0] == f"RAYDEBUG_ADDRESS={DEFAULT} raydebug url"


def test_how_a_held_rank_goes_on() -> None:
    points = {"breakpoints": frozenset({Point(3, 1), Point(5, 1)}), "crashes": frozenset({Point(4, 0)})}
    assert commands(DEFAULT, {}, **points)[2:] == [
        "raydebug paused",
        "raydebug attach actor_rollout:0",
        "raydebug continue actor_rollout:0",
        "raydebug attach actor_rollout:1",
        "raydebug continue actor_rollout:1",
    ]


def test_a_crash_that_is_let_go_ends_the_training() -> None:
    options = Options(
        breakpoints=frozenset({Point(3, 1), Point(3, 2)}), crashes=frozenset({Point(4, 0), Point(4, 2)}), ranks=3
    )
    said = [line.partition("  # ")[2] for line in next_steps(DEFAULT, options, {}, "raydebug") if " continue " in line]
    ends = "lets its crash fail the task: the training ends with it"
    assert said == [ends, "lets it go on", f"lets it go on; {ends}"]


def test_the_command_is_called_as_the_demo_was(tmp_path: Path) -> None:
    script = tmp_path / "raydebug"
    script.touch(0o755)
    env = {"PATH": str(tmp_path)}
    assert program_of(str(script), "/py", env) == "raydebug"
    assert program_of(".venv/bin/raydebug", "/py", env) == ".venv/bin/raydebug"
    assert program_of("/my envs/bin/raydebug", "/py", env) == "'/my envs/bin/raydebug'"
    assert program_of("/lib/raydebug/demo/__main__.py", "/py", env) == "/py -m raydebug.cli"
    assert program_of("x", "/py", {"RAYDEBUG_DEMO_COMMAND": "y"}) == "y"
