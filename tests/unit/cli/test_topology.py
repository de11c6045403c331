"""The commands ``ps`` and ``paused`` against a server."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from raydebug.api.paused import Paused
from raydebug.api.topology import Topology
from raydebug.cli import main

from .samples import HOSTILE, actor, group, job, paused, site, thread, topology
from .server import FakeDashboard, error

BACKEND = Path(__file__).parents[3] / "backend"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_ps_prints_the_tree(fake: FakeDashboard) -> None:
    fake.hub(topology=topology())
    result = call("ps", "--address", fake.url)
    assert result.exit_code == 0, result.output
    assert "rank 3  paused  actor.update_policy" in result.stdout
    assert "rank 0" not in result.stdout
    assert "rank 0" in call("ps", "--address", fake.url, "--ranks").stdout


@pytest.mark.parametrize("command", ["ps", "paused"])
def test_json_is_the_answer_of_the_api(fake: FakeDashboard, command: str) -> None:
    fake.hub(topology=topology(), paused=paused())
    result = call(command, "--json", "--address", fake.url)
    assert result.exit_code == 0
    name = {"ps": "topology", "paused": "paused"}[command]
    assert result.stdout_bytes == fake.answers[f"/debug/api/v1/{name}"][1] + b"\n"
    msgspec.json.decode(result.stdout_bytes, type=Topology if command == "ps" else Paused)


def test_ps_of_one_job_asks_for_it(fake: FakeDashboard) -> None:
    fake.hub(topology=topology())
    assert call("ps", "--address", fake.url, "--job", "01&x=1").exit_code == 0
    assert fake.seen[-1] == "/debug/api/v1/topology?job=01%26x%3D1"


def test_paused_of_one_job(fake: FakeDashboard) -> None:
    mine, other = thread(0, job_id="07000000", since_ns=5), thread(1, since_ns=1)
    fake.hub(paused=paused(sites=[site(members=[mine, other], since_ns=1), site(members=[other])]), topology=topology())
    result = call("paused", "--address", fake.url, "--job", "07000000", "--json")
    found = msgspec.json.decode(result.stdout_bytes, type=Paused)
    assert [(place.members, place.since_ns) for place in found.sites] == [([mine], 5)]
    assert "1 thread paused at 1 place" in call("paused", "--address", fake.url, "--job", "07000000").stdout
    assert "nothing is paused" in call("paused", "--address", fake.url, "--job", "08000000").stdout


def test_paused_says_where_by_address(fake: FakeDashboard) -> None:
    fake.hub(paused=paused(), topology=topology())
    assert "actor_rollout_wg:0  10.0.0.2  pid 4000" in call("paused", "--address", fake.url).stdout
    fake.hub(topology=error(403, "forbidden", "no"))
    assert "actor_rollout_wg:0  22222222  pid 4000" in call("paused", "--address", fake.url).stdout


def test_paused_asks_for_no_topology_where_nothing_is_paused(fake: FakeDashboard) -> None:
    fake.hub(paused=paused(sites=[]))
    assert call("paused", "--address", fake.url).exit_code == 0
    assert not any("topology" in path for path in fake.seen)


@pytest.mark.parametrize("command", ["ps", "paused"])
@pytest.mark.parametrize("extra", [[], ["--json"], ["--watch"]])
@pytest.mark.parametrize(
    ("answer", "exit_code"),
    [
        (error(404, "unknown_job", "There is no job 9.", "GET topology lists the jobs."), 1),
        (error(503, "hub_down", "hub is down"), 3),
        ((404, b"404: Not Found"), 3),
        ((200, b"<html>"), 3),
        (error(403, "forbidden", "not for you", "ask"), 4),
        ((401, b"Unauthorized"), 4),
    ],
)
def test_exit_codes(
    fake: FakeDashboard, command: str, extra: list[str], answer: tuple[int, bytes], exit_code: int
) -> None:
    fake.hub(topology=answer, paused=answer)
    result = call(command, "--address", fake.url, *extra)
    assert result.exit_code == exit_code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")


def test_nobody_there() -> None:
    for command in ("ps", "paused"):
        assert call(command, "--address", "http://127.0.0.1:9").exit_code == 3


def test_watch_and_json_exclude_each_other(fake: FakeDashboard) -> None:
    for command in ("ps", "paused"):
        result = call(command, "--address", fake.url, "--json", "--watch")
        assert result.exit_code == 2
        assert result.stdout == ""


def process(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(BACKEND), "COLUMNS": "100", "LINES": "30", "TERM": "xterm-256color"}
    return subprocess.Popen([sys.executable, "-m", "raydebug.cli", *arguments], env=env, **options)  # type: ignore[call-overload, no-any-return]


def test_watch_in_a_pipe_prints_again_and_survives_a_hub_that_restarts(fake: FakeDashboard) -> None:
    fake.hub(paused=paused(sites=[]))
    with process("paused", "--watch", "--address", fake.url, stdout=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == b"nothing is paused\n"
        fake.hub(paused=error(503, "hub_down", "hub is down"))
        lines = [watching.stdout.readline() for _ in range(4)]
        while not any(b"not up to date" in line for line in lines):
            lines.append(watching.stdout.readline())
        fake.hub(paused=paused(), topology=topology())
        while b"2 threads paused at 1 place\n" not in lines:
            lines.append(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0


def test_watch_on_a_terminal_shows_hostile_names_in_place_and_leaves_it_clean(fake: FakeDashboard) -> None:
    name = HOSTILE.replace("\udcff", "")  # no JSON can hold it
    bad = job(groups=[group(5, name=name, r1={"state": "paused"})], actors=[actor("runner"), actor(name, role=name)])
    fake.hub(topology=topology(jobs=[bad]))
    ours, theirs = pty.openpty()
    watching = process("ps", "-w", "--address", fake.url, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 30
    while shown.count(b"rank 1") < 2 and time.monotonic() < deadline:
        shown += os.read(ours, 65536)
    watching.send_signal(signal.SIGINT)
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass
    os.close(ours)
    assert watching.wait(10) == 0
    assert shown.count(b"\x1b[?1049h") == shown.count(b"\x1b[?1049l") == 1
    assert b"\x1b[2J" not in shown
    assert b"\x1b]0;" not in shown
    assert b"\x07" not in shown
    assert b"\\x1b[2J" in shown
    assert "\u202e".encode() not in shown
