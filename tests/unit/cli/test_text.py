"""What the terminal views print: widths, folding, and names from user code that try to be more than names."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console
from rich.text import Text

from raydebug.api.doctor import Check
from raydebug.api.paused import Paused
from raydebug.api.topology import SourceState, Topology
from raydebug.cli.doctor_text import report_lines
from raydebug.cli.paused_text import paused_lines
from raydebug.cli.screen import console, shorten, show
from raydebug.cli.topology_text import View, topology_lines
from raydebug.cli.words import age, clean, count, span

from .samples import HOSTILE, actor, ago, group, job, node, paused, site, thread, topology

WIDTHS = [80, 200, None]


def ps(given: Topology, width: int | None = None, ranks: bool = False) -> list[str]:
    return [line.plain for line in topology_lines(given, View(width=width, ranks=ranks))]


def places(given: Paused, width: int | None = None) -> list[str]:
    return [line.plain for line in paused_lines(given, {"2" * 56: "10.0.0.2"}, width)]


def the(lines: list[str], word: str) -> str:
    found = [line for line in lines if word in line]
    assert len(found) == 1, "\n".join(lines)
    return found[0]


def printed(lines: list[Text], *, terminal: bool, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    out = console(file)
    assert not out.is_terminal
    if terminal:
        out = Console(file=file, force_terminal=True, width=width, markup=False, emoji=False, highlight=False)
    show(out, lines)
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0.9, "0s"),
        (59, "59s"),
        (60, "1m"),
        (134, "2m 14s"),
        (3600, "1h"),
        (3725, "1h 2m"),
        (86400 * 3 + 7200, "3d 2h"),
    ],
)
def test_age(seconds: float, words: str) -> None:
    assert age(int(seconds * 1e9)) == words


def test_small_words() -> None:
    assert span([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    assert span([]) == ""
    assert count(1, "rank") == "1 rank"
    assert count(2000, "rank") == "2,000 ranks"
    assert shorten("abcdefghij", 5) == "ab…ij"
    assert clean("naïve 名前 [x]") == "naïve 名前 [x]"


def test_clean_leaves_nothing_that_a_terminal_obeys() -> None:
    shown = clean(HOSTILE)
    assert shown.isprintable()
    assert shown.startswith("\\x1b[2J\\x1b]0;owned\\x07[bold red]x[/] \\u202e")


def test_the_tree() -> None:
    lines = ps(topology())
    assert the(lines, "2 nodes") == "2 nodes, 16 CPUs, 8 GPUs  helpers: 2 up"
    assert the(lines, "job 01000000").startswith("job 01000000  running  1h 1m  python -m verl")
    assert the(lines, "driver") == "└─ driver  waiting  1h  pid 99  10.0.0.1"
    assert the(lines, "TaskRunner") == "   └─ runner (TaskRunner)  waiting  run  2m 14s  pid 4711  10.0.0.1"
    assert the(lines, "actor_rollout_wg") == (
        "      └─ actor_rollout_wg  verl  7 of 8 ranks alive  roles actor, critic  "
        "1 paused actor.update_policy 3s, 1 failed 2m 14s, 6 running actor.update_policy 2m 14s"
    )
    assert the(lines, "rank 3") == "         rank 3  paused  actor.update_policy  3s  pid 4711  10.0.0.2"
    assert the(lines, "rank 5") == "         rank 5  failed  actor.update_policy  2m 14s  10.0.0.2  OOM"
    assert len(lines) == 8


def test_ranks_unfold() -> None:
    lines = ps(topology(), ranks=True)
    assert all(the(lines, f"rank {rank}  ") for rank in range(8))
    few = topology(jobs=[job(groups=[group(2)])])
    assert the(ps(few), "rank 1  ")


def test_many_ranks_in_one_state_share_a_line() -> None:
    failed: dict[str, Any] = {f"r{i}": {"state": "failed", "death_cause": "boom\ntraceback"} for i in range(10, 40)}
    lines = ps(topology(jobs=[job(groups=[group(64, **failed)])]))
    assert the(lines, "ranks 10-39").endswith("failed  actor.update_policy  2m 14s  boom")
    assert len(lines) < 12


def test_many_actors_of_a_class_share_a_line_and_the_paused_stay_visible() -> None:
    actors = [actor(f"loader{i}", class_name="Loader", state="paused" if i == 7 else "idle") for i in range(30)]
    lines = ps(topology(jobs=[job(groups=[], actors=actors)]))
    assert "30 actors" in the(lines, "Loader 30")
    assert the(lines, "loader7 (Loader)")
    assert len(lines) == 6


def test_what_the_hub_left_out_is_told() -> None:
    clipped = msgspec.structs.replace(group(2, name="wg"), clipped=3)
    lines = ps(topology(jobs=[job(groups=[clipped], actors=[actor("a", state=None)], clipped_actors=1)]))
    assert "and 3 older that ended" in the(lines, " wg ")
    assert the(lines, "older actor") == "   and 1 older actor that ended"
    assert "unknown" in the(lines, " a (Worker)")


def test_actors_hang_below_who_made_them() -> None:
    child = actor("child", parent_actor_id="wg_0")
    members = group(1, name="wg", parent=None, r0={"actor_id": "wg_0"})
    lost = actor("lost", parent_actor_id="nobody")
    lines = ps(topology(jobs=[job(groups=[members], actors=[child, lost])]))
    assert the(lines, "child").index("child") > the(lines, " wg ").index("wg")
    assert the(lines, "lost").index("lost") == the(lines, " wg ").index("wg")


def test_a_finished_job_is_one_line_and_what_failed() -> None:
    finished = job(state="finished", end_ns=ago(60))
    lines = ps(topology(jobs=[finished]))
    assert "1m ago, ran 1h" in the(lines, "job 01000000")
    assert the(lines, "rank 5")
    assert len(lines) == 4
    assert len(ps(topology(jobs=[finished]), ranks=True)) > 10


def test_what_is_wrong_with_nodes_and_sources_is_said() -> None:
    given = topology(
        nodes=[
            node(1),
            node(2, helper="missing", helper_note="raydebug isn't there"),
            node(3, alive=False, end_ns=ago(100), death_cause="preempted"),
        ],
        sources=[SourceState(name="gcs", ok=False, fresh_ns=ago(9), period_ns=1, note="no answer")],
        jobs=[],
    )
    lines = ps(given)
    assert the(lines, "2 nodes").endswith("helpers: 1 up, 1 missing  1 dead")
    assert the(lines, "10.0.0.2") == "node 10.0.0.2  helper missing  raydebug isn't there"
    assert the(lines, "10.0.0.3") == "node 10.0.0.3  dead  1m 40s ago  preempted"
    assert the(lines, "stale") == "stale  gcs, 9s old  no answer"
    assert "no jobs" in lines


def test_paused_places() -> None:
    lines = places(paused(sites=[site(exception="ValueError: bad\nmore", kind="exception")]))
    assert lines[0] == "2 threads paused at 1 place"
    assert lines[2:] == [
        "exception  /usr/lib/python3.11/site-packages/verl/workers/fsdp_workers.py:212 in update_policy  "
        "since 2m 14s  site:3fa9c1d2e3f4a5b6",
        "  ValueError: bad",
        "  actor_rollout_wg:0  10.0.0.2  pid 4000  update_policy",
        "  actor_rollout_wg:1  10.0.0.2  pid 4001  update_policy  attached",
    ]
    assert places(paused(sites=[])) == ["nothing is paused"]


def test_paused_says_why_each_stopped() -> None:
    step, call = thread(0, reason="step"), thread(1, reason="breakpoint")
    assert places(paused(sites=[site(members=[step])]))[2].startswith("step  /usr/")
    head, first, second = places(paused(sites=[site(members=[step, call])]))[2:]
    assert head.startswith("breakpoint  /usr/")
    assert first.endswith("  update_policy  step")
    assert second.endswith("  update_policy")
    crashed = site(kind="exception", members=[thread(0, reason="exception")])
    assert places(paused(sites=[crashed]))[2].startswith("exception  /usr/")


def test_paused_without_a_place_and_a_driver() -> None:
    lines = places(
        paused(
            sites=[
                site(
                    file=None,
                    line=None,
                    function=None,
                    note="no helper",
                    members=[thread(0, group=None, rank=None, worker_type="driver", task_name=None, node_id="9" * 56)],
                )
            ]
        )
    )
    assert lines[2:] == [
        "breakpoint  place unknown  since 2m 14s  site:3fa9c1d2e3f4a5b6",
        "  no helper",
        "  driver  99999999  pid 4000",
    ]


def test_a_narrow_terminal_keeps_the_end_of_the_path_and_the_target() -> None:
    lines = places(paused(), 80)
    assert "fsdp_workers.py:212 in update_policy  since 2m 14s" in lines[2]
    assert lines[3] == "  site:3fa9c1d2e3f4a5b6"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_line_fits(width: int | None) -> None:
    long = job(entrypoint="x" * 500, groups=[group(8, name="g" * 100, r3={"state": "paused", "task_name": "m" * 300})])
    lines = [
        *topology_lines(topology(jobs=[job(), long]), View(width=width)),
        *paused_lines(paused(sites=[site(exception="E" * 400), site(file="/f" * 200)]), {}, width),
    ]
    assert all("\n" not in line.plain for line in lines)
    if width is not None:
        assert max(line.cell_len for line in lines) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_stay_names(width: int | None) -> None:
    bad = job(
        entrypoint=HOSTILE,
        submission_id=HOSTILE,
        groups=[
            group(5, name=HOSTILE, r1={"state": "failed", "death_cause": HOSTILE}, r2={"name": HOSTILE, "rank": None})
        ],
        actors=[actor(HOSTILE, class_name=HOSTILE, task_name=HOSTILE, role=HOSTILE, death_cause=HOSTILE)],
    )
    nodes = [node(1, helper_note=HOSTILE, helper="missing"), node(2, alive=False, death_cause=HOSTILE)]
    lines = [
        *topology_lines(topology(jobs=[bad], nodes=nodes), View(width=width, ranks=True)),
        *paused_lines(
            paused(
                sites=[
                    site(
                        file=HOSTILE,
                        function=HOSTILE,
                        exception=HOSTILE,
                        note=HOSTILE,
                        members=[thread(0, group=HOSTILE, task_name=HOSTILE, thread_name=HOSTILE)],
                    )
                ]
            ),
            {"2" * 56: HOSTILE},
            width,
        ),
        *report_lines([Check(check="x", level="error", where=HOSTILE, message=HOSTILE, fix=HOSTILE)], width),
    ]
    for line in lines:
        assert line.plain.isprintable(), repr(line.plain)
    assert any("[bold red]x[/]" in line.plain for line in lines)
    text = printed(lines, terminal=False)
    assert len(text.splitlines()) == len(lines)
    assert "\x1b" not in text
    assert ":boom:" in text


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_printing_never_fails_on_an_old_terminal(encoding: str) -> None:
    lines = topology_lines(topology(jobs=[job(entrypoint="名前")]), View(width=None))
    assert "job 01000000" in printed(lines, terminal=False, encoding=encoding)


def test_nothing_is_wrapped_when_piped() -> None:
    lines = topology_lines(topology(jobs=[job(entrypoint="y" * 400)]), View(width=None))
    assert "y" * 400 in printed(lines, terminal=False)


def test_the_report() -> None:
    checks = [
        Check(check="a", level="ok", where="head", message="all well", fix="or so"),
        Check(check="b", level="warning", where="10.0.0.2", message="so so", fix="do this"),
        Check(check="c", level="error", where="head", message="broken", fix="do that"),
    ]
    assert [line.plain for line in report_lines(checks, None, titles={"head": "the head"})] == [
        "the head",
        "  ✓ ok      all well",
        "            hint: or so",
        "  ✗ error   broken",
        "            fix: do that",
        "",
        "10.0.0.2",
        "  ! warning so so",
        "            fix: do this",
        "",
        "3 checks: 1 error, 1 warning",
    ]
    assert "  x error   broken" in [line.plain for line in report_lines(checks, None, utf8=False)]


@pytest.mark.parametrize("width", [80, 200])
def test_the_report_wraps_to_the_terminal_with_its_indent(width: int) -> None:
    message = "word " * 60
    lines = [
        line.plain
        for line in report_lines([Check(check="a", level="error", where="h", message=message, fix=message)], width)
    ]
    assert max(map(len, lines)) <= width
    assert all(line.startswith(" " * 12) for line in lines[2:-2])
    assert len(lines) > 5
