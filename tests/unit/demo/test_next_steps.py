from __future__ import annotations

from raydebug.demo.next_steps import next_steps
from raydebug.demo.options import Options, Point

DEFAULT = "http://127.0.0.1:8265"


def commands(url: str, env: dict[str, str], **options: frozenset[Point]) -> list[str]:
    head, _, *lines = next_steps(url, Options(**options), env)  # type: ignore[arg-type]
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
