"""What ``raydebug eval`` and ``raydebug continue`` print."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from raydebug.cli import main
from raydebug.cli.eval_text import Evaluated, Resumed, eval_lines, odd_ones, resumed_lines

from .samples import HOSTILE
from .server import FakeDashboard, error, health


def ev(rank: int | None, value: str | None, **more: Any) -> Evaluated:
    values: dict[str, Any] = {
        "worker_id": f"w{rank}",
        "rank": rank,
        "label": f"actor:{rank}",
        "group": "actor",
        "ok": True,
        "value": value,
        "type": "float",
        "took_ms": 12.3,
    }
    return Evaluated(**values | more)


def plain(rows: list[Evaluated], width: int | None = None) -> list[str]:
    return [line.plain for line in eval_lines(rows, width)]


def test_a_line_for_each_rank_and_the_odd_one_marked() -> None:
    assert plain([ev(0, "0.5"), ev(1, "7.25"), ev(2, "0.5")]) == [
        "rank  value  type        took",
        "0     0.5    float       12 ms",
        "1     7.25   float  odd  12 ms",
        "2     0.5    float       12 ms",
    ]


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        (["1", "1", "2"], {2}),
        (["1", "2"], set()),
        (["1", "1", "2", "2"], set()),
        (["1", "2", "3"], set()),
        (["1", "1", "1"], set()),
        ([], set()),
        (["1", "1", "1", "2", "3"], {3, 4}),
    ],
)
def test_odd_is_what_differs_from_a_majority(values: list[str], odd: set[int]) -> None:
    assert odd_ones([ev(i, value) for i, value in enumerate(values)]) == odd


def test_a_failed_rank_is_no_odd_one() -> None:
    failed = ev(3, None, ok=False, type=None, error="NameError: name 'x' is not defined")
    rows = [ev(0, "1"), ev(1, "1"), ev(2, "1"), failed]
    assert odd_ones(rows) == set()
    assert plain(rows)[-1].split("  ")[:2] == ["3", ""]
    assert "NameError: name 'x' is not defined  error" in plain(rows)[-1]


def test_a_traceback_is_shown_of_one_worker_alone() -> None:
    failed = ev(3, None, ok=False, type=None, error="KeyError: 1", traceback="Traceback\n  File x\nKeyError: 1\n")
    assert plain([failed])[2:] == ["", "Traceback", "  File x", "KeyError: 1"]
    assert len(plain([failed, failed])) == 3


def test_several_groups_and_unknown_ranks_are_named() -> None:
    lines = plain([ev(0, "1"), ev(0, "1", group="critic", label="critic:0"), ev(None, "1", label="driver")])
    assert [line.split()[0] for line in lines] == ["rank", "actor:0", "critic:0", "driver"]


@pytest.mark.parametrize("width", [40, 80, None])
def test_values_of_user_code_stay_on_their_line(width: int | None) -> None:
    rows = [ev(0, HOSTILE * 30, type=HOSTILE), ev(1, None, ok=False, error=HOSTILE), ev(2, "é" * 500, thread=HOSTILE)]
    lines = plain(rows, width)
    assert len(lines) == 4
    assert not any(char in "".join(lines) for char in "\x1b\x07\u202e\n")
    if width is not None:
        assert max(map(len, lines)) <= width


def test_a_long_value_is_cut_and_the_rest_of_its_line_stays() -> None:
    assert plain([ev(0, "1"), ev(1, "é" * 500)], 80)[2].endswith("é…  float  12 ms")


def test_the_json_fields() -> None:
    row = ev(1, "2", thread=None)
    fields = {"worker_id": "w1", "rank": 1, "ok": True, "value": "2", "type": "float", "error": None}
    assert row.as_json() == fields
    assert ev(1, "2", thread="MainThread").as_json() == {**fields, "thread": "MainThread"}


def test_how_many_went_on() -> None:
    def gone(threads: int, error: str | None = None, detached: bool = False) -> Resumed:
        ok = error is None
        return Resumed(worker_id="w", rank=0, label="actor:0", ok=ok, threads=threads, error=error, detached=detached)

    def lines(rows: list[Resumed], detached: bool = False) -> list[str]:
        return [line.plain for line in resumed_lines(rows, detached, None)]

    assert lines([gone(1), gone(2), gone(0)]) == ["3 threads of 2 workers went on"]
    assert lines([gone(1)], True) == ["1 thread of 1 worker went on; detached"]
    assert lines([gone(1, detached=True), gone(0, detached=True)], True) == [
        "1 thread of 1 worker went on; detached",
        "detached from 1 worker where nothing was stopped",
    ]
    assert lines([gone(0)]) == ["nothing was stopped there"]
    assert lines([gone(1), gone(0, "busy")]) == ["1 thread of 1 worker went on", "actor:0: busy"]


@pytest.mark.parametrize(
    "arguments", [["eval", "x", "--on", "a"], ["continue", "all-paused"], ["attach", "a"]], ids=lambda a: str(a[0])
)
class TestNoHub:
    def run(self, arguments: list[str], address: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, [*arguments, "--address", address])
        return done.exit_code, done.output

    def test_nobody_answers(self, arguments: list[str]) -> None:
        code, said = self.run(arguments, "http://127.0.0.1:1")
        assert code == 3
        assert "No Ray Dashboard answers" in said

    def test_no_raydebug(self, arguments: list[str], fake: FakeDashboard) -> None:
        code, said = self.run(arguments, fake.url)
        assert code == 3
        assert "raydebug isn't in it" in said

    def test_rays_token(self, arguments: list[str], fake: FakeDashboard) -> None:
        fake.hub(health=(401, b"Unauthorized"))
        code, said = self.run(arguments, fake.url)
        assert code == 4
        assert "Ray's token" in said

    def test_the_hub_is_down(self, arguments: list[str], fake: FakeDashboard) -> None:
        fake.hub(health=error(503, "hub_down", "The hub is starting."))
        assert self.run(arguments, fake.url) == (3, "Error: The hub is starting.\n")

    def test_no_websocket(self, arguments: list[str], fake: FakeDashboard) -> None:
        fake.hub(health=health())
        code, said = self.run(arguments, fake.url)
        assert code == 3
        assert "/debug/ws" in said


@pytest.mark.parametrize(
    "arguments",
    [["eval", "x"], ["eval", " ", "--on", "a"], ["eval", "x", "--on", "a", "--running", "--all-threads"], ["attach"]],
    ids=" ".join,
)
def test_bad_usage(arguments: list[str]) -> None:
    assert CliRunner().invoke(main, arguments).exit_code == 2
