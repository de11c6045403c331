"""``raydebug eval``, ``continue`` and ``attach`` as a user runs them, on a real cluster with three ranks that stop."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raydebug.api.paused import PausedSite
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in

JOB = Path(__file__).parent / "jobs" / "ranks.py"
PLACE = api.line_of(JOB, "the place")


class Terminal:
    """The commands of this checkout, against one cluster."""

    def __init__(self, cluster: RayCluster) -> None:
        self.cluster = cluster
        self.env = {**cluster.env, "RAYDEBUG_ADDRESS": cluster.url, "RAY_ADDRESS": "", "RAYDEBUG_TOKEN": ""}

    def command(self, *arguments: str) -> list[str]:
        return [self.cluster.python, "-m", "raydebug.cli", *arguments]

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=self.env, input=stdin, capture_output=True, text=True, timeout=120
        )

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def eval(self, expression: str, target: str = "Rank") -> list[str | None]:
        return [row["value"] for row in self.json("eval", expression, "--on", target)]


@pytest.fixture(scope="module")
def job() -> Iterator[Terminal]:
    plugin_in()
    with RayCluster(num_cpus=2) as cluster:
        driver = cluster.run_script(str(JOB))
        try:
            yield Terminal(cluster)
        finally:
            driver.kill()
            driver.wait()


@pytest.fixture
def terminal(job: Terminal) -> Terminal:
    """All three ranks stand at the place."""

    def all_there() -> bool:
        sites = api.paused(job.cluster.url)
        if any(len(site.members) == 3 and site.line == PLACE for site in sites):
            return True
        for site in sites:
            if site.line not in (None, PLACE):
                job.run("continue", f"site:{site.site_id}")
        return False

    wait_for("three ranks at the place", all_there, timeout=120)
    return job


def the_site(terminal: Terminal) -> PausedSite:
    sites = api.paused(terminal.cluster.url)
    assert len(sites) == 1, sites
    return sites[0]


def test_eval_on_a_group_marks_the_odd_rank(terminal: Terminal) -> None:
    rows = terminal.json("eval", "loss", "--on", "Rank")
    assert [list(row) for row in rows] == [["worker_id", "rank", "ok", "value", "type", "error"]] * 3
    assert [(row["rank"], row["ok"], row["value"], row["type"], row["error"]) for row in rows] == [
        (0, True, "0.5", "float", None),
        (1, True, "7.25", "float", None),
        (2, True, "0.5", "float", None),
    ]
    shown = terminal.run("eval", "loss", "--on", "Rank")
    assert shown.returncode == 0
    head, *lines = shown.stdout.splitlines()
    assert head.split() == ["rank", "value", "type", "took"]
    assert [line.split()[:2] for line in lines] == [["0", "0.5"], ["1", "7.25"], ["2", "0.5"]]
    assert ["odd" in line.split() for line in lines] == [False, True, False]
    # They are attached now, at the same place, and stay so.
    assert all(member.attached for member in the_site(terminal).members)


def test_eval_on_one_rank_and_by_every_kind_of_target(terminal: Terminal) -> None:
    (row,) = terminal.json("eval", "(self.rank, loss)", "--on", "Rank:1")
    assert (row["rank"], row["value"]) == (1, "(1, 7.25)")
    assert terminal.eval("self.rank", row["worker_id"][:12]) == ["1"]
    assert terminal.eval("self.rank", f"site:{the_site(terminal).site_id}") == ["0", "1", "2"]
    assert terminal.eval("self.rank", "all-paused") == ["0", "1", "2"]
    assert terminal.run("eval", "seen = loss + 1", "--on", "Rank:1").returncode == 0
    assert terminal.eval("seen", "Rank:1") == ["8.25"]
    assert terminal.eval("self.rank * 10 + self.steps * 0", "Rank:2") == ["20"]
    hostile = terminal.run("eval", "name", "--on", "Rank")
    assert "hostile" in hostile.stdout
    assert "\x1b" not in hostile.stdout
    (thread,) = terminal.json("eval", "1", "--on", "Rank:0", "--all-threads")
    assert thread["thread"] == "MainThread"


def test_errors_and_exit_codes(terminal: Terminal) -> None:
    rows = terminal.json("eval", "loss if self.rank else nope", "--on", "Rank")
    assert [row["ok"] for row in rows] == [False, True, True]
    assert (rows[0]["error"], rows[0]["value"]) == ("NameError: name 'nope' is not defined", None)
    failed = terminal.run("eval", "nope", "--on", "Rank:0")
    assert failed.returncode == 1
    assert "NameError: name 'nope' is not defined" in failed.stdout
    assert "Traceback" in failed.stdout
    for target, code, words in [
        ("Rank:7", 1, "Rank has no rank 7; it has 0-2."),
        ("Rnk", 1, "Rank  ranks 0-2"),
        ("site:nothing", 1, f"site:{the_site(terminal).site_id}"),
        ("", 2, "TARGET is empty."),
    ]:
        for command in (["eval", "1", "--on", target], ["continue", target], ["attach", target]):
            done = terminal.run(*command)
            assert (done.returncode, done.stdout) == (code, ""), command
            assert words in done.stderr, command
    several = terminal.run("attach", "Rank")
    assert several.returncode == 2
    assert "Rank means 3 workers" in several.stderr
    assert terminal.run("eval", "1", "--on", "Rank", "--address", "http://127.0.0.1:1").returncode == 3


def test_a_viewer_may_not(terminal: Terminal) -> None:
    token = terminal.json("grant", "--role", "viewer", "--name", "Ann")["token"]
    for command in (["eval", "1", "--on", "Rank"], ["continue", "Rank"], ["attach", "Rank:0"]):
        refused = terminal.run(*command, "--token", token)
        assert (refused.returncode, refused.stdout) == (4, ""), command
        assert "needs the role debugger; you are viewer" in refused.stderr
        assert terminal.run(*command, "--token", "wrong").returncode == 4


def test_what_never_ends_is_an_error_and_holds_up_nobody(terminal: Terminal, tmp_path: Path) -> None:
    end = tmp_path / "end"
    endless = f"import os, time\nwhile self.rank == 1 and not os.path.exists({str(end)!r}):\n    time.sleep(0.05)"
    done = terminal.run("eval", endless, "--on", "Rank", "--timeout", "2", "--json")
    assert done.returncode == 1
    rows = json.loads(done.stdout)
    assert [row["ok"] for row in rows] == [True, False, True]
    assert rows[1]["error"] == "still running after 2 s"
    assert terminal.eval("loss", "Rank:0") == ["0.5"]
    end.touch()
    wait_for("rank 1", lambda: terminal.eval("loss", "Rank:1") == ["7.25"])


def test_continue_and_the_next_stop(terminal: Terminal) -> None:
    steps = [int(value or -1) for value in terminal.eval("step")]
    gone = terminal.run("continue", "all-paused")
    assert (gone.returncode, gone.stdout) == (0, "3 threads of 3 workers went on\n")
    # Nobody attaches anew: their next breakpoint() stops at once.
    wanted = [str(step + 1) for step in steps]
    wait_for("the next step", lambda: terminal.eval("step") == wanted, timeout=60)
    assert all(member.attached for member in the_site(terminal).members)

    detached = terminal.run("continue", "Rank", "--detach")
    assert detached.stdout == "3 threads of 3 workers went on; detached\n"

    def waits() -> bool:
        sites = api.paused(terminal.cluster.url)
        return len(sites) == 1 and [member.attached for member in sites[0].members] == [False] * 3

    wait_for("three that wait for a debugger", waits, timeout=60)


def test_what_runs(terminal: Terminal, tmp_path: Path) -> None:
    """Rank 2 goes on, and is held in a loop."""
    end = tmp_path / "end"
    assert terminal.run("eval", f"self.hold = {str(end)!r}", "--on", "Rank:2").returncode == 0
    assert terminal.json("continue", "Rank:2")[0]["threads"] == 1
    wait_for("rank 2 to run", lambda: len(the_site(terminal).members) == 2)
    again = terminal.run("continue", "Rank:2")
    assert (again.returncode, again.stdout) == (1, "nothing was stopped there\n")
    rows = terminal.json("eval", "self.rank", "--on", "Rank")
    assert [row["ok"] for row in rows] == [True, True, False]
    assert "isn't stopped" in rows[2]["error"]
    # Beside it there is the actor, but no frame.
    (row,) = terminal.json("eval", "self.rank", "--on", "Rank:2", "--running")
    assert (row["ok"], row["value"]) == (True, "2")
    # Only where debugpy was opened once.
    (job,) = terminal.json("ps")["jobs"]
    (row,) = terminal.json("eval", "1", "--on", job["driver"]["worker_id"], "--running")
    assert (row["ok"], row["value"]) == (False, None)
    assert "it has never stopped at a breakpoint()" in row["error"]
    done = terminal.run("attach", "Rank:2", "--timeout", "60", stdin=":live self.rank\n:pause\n:up\nq\n")
    in_order(done.stdout, "It runs.", "\n2  (beside the program", "stopped (pause) at", "stays attached and stopped")
    assert "It runs." in done.stdout
    assert done.stdout.count("It runs.") == 1
    # It went nowhere since it was paused, which isn't a breakpoint.
    assert "\npause  " in terminal.run("paused").stdout
    assert terminal.run("continue", "Rank:2").stdout == "1 thread of 1 worker went on\n"
    left = terminal.run("continue", "Rank:2", "--detach")
    assert (left.returncode, left.stdout) == (0, "detached from 1 worker where nothing was stopped\n")
    assert terminal.run("continue", "Rank:2", "--detach").returncode == 1
    end.touch()


def in_order(text: str, *parts: str) -> None:
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} isn't in what follows:\n{text[at:]}\n--- of\n{text}"
        at = found + len(part)


def test_attach_fed_from_a_pipe(terminal: Terminal) -> None:
    call, counting = api.line_of(JOB, "the call"), api.line_of(JOB, "the count")
    callee = api.line_of(JOB, "the callee")
    script = f"""\
:stack
:list
loss * 2
for i in range(2):
    print("looped", i)

:locals
:set loss = 1.5
:until {callee}
value
:up
loss
:down
s
:out
:break ranks.py:{counting} if doubled > 0
:breaks
c
:wait
doubled
:clear 1
:breaks
:threads
"""
    done = terminal.run("attach", "Rank:1", "--timeout", "60", stdin=script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    in_order(
        done.stdout,
        "Rank:1  pid ",
        "stopped (breakpoint) at ",
        " → ",
        "> #0  ",
        " → ",
        '\n(Rank:1) loss * 2\n14.5\n(Rank:1) for i in range(2):\n...     print("looped", i)\n...\nlooped 0\nlooped 1\n',
        "(Rank:1) :locals\nself = ",
        "loss = 7.25  float\n",
        "(Rank:1) :set loss = 1.5\nloss = 1.5\n(Rank:1) :until",
        f"stopped (breakpoint) at {JOB}:{callee} in ",
        "(Rank:1) value\n1.5\n",
        f"{JOB}:{call} in ",
        "(Rank:1) loss\n1.5\n",
        f"{JOB}:{callee} in ",
        f"stopped (step) at {JOB}:{callee + 1} in ",
        "stopped (step) at ",
        f"1  {JOB}:{counting}  if doubled > 0\n",
        "goes on\n",
        f"stopped (breakpoint) at {JOB}:{counting} in ",
        f"●→ {counting} ",
        "doubled\n3.0\n",
        f"removed {JOB}:{counting}\n",
        "no breakpoints\n",
        "MainThread  stopped",
        "The worker stays attached and stopped: `raydebug continue` lets it go on.",
    )
    assert "\x1b" not in done.stdout
    # It stands where the script left it.
    assert terminal.eval("doubled", "Rank:1") == ["3.0"]


def test_a_script_that_fails_says_so(terminal: Terminal) -> None:
    done = terminal.run("attach", "Rank:0", stdin="nope\n:bogus\n:frame 99\nloss\n:detach\n")
    assert done.returncode == 1
    in_order(
        done.stdout,
        "NameError: name 'nope' is not defined\n",
        ":bogus isn't a command",
        "there is no frame 99",
        "0.5\n",
        "(Rank:0) :detach\nDetached; the worker runs on.\n",
    )
    assert "stays" not in done.stdout
    assert "over" not in done.stdout


def test_a_breakpoint_has_the_same_number_in_each_console(terminal: Terminal) -> None:
    counting, call = api.line_of(JOB, "the count"), api.line_of(JOB, "the call")
    first = terminal.run("attach", "Rank:0", stdin=f":break {counting}\n:break {call}\n").stdout
    numbers = {int(line): int(number) for number, line in re.findall(rf"^(\d+)  {JOB}:(\d+)$", first, re.MULTILINE)}
    assert set(numbers) == {counting, call}
    second = terminal.run("attach", "Rank:0", stdin=f":clear {numbers[counting]}\n:breaks\n").stdout
    in_order(second, f"removed {JOB}:{counting}\n", f"\n{numbers[call]}  {JOB}:{call}\n")
    assert "no breakpoints\n" in terminal.run("attach", "Rank:0", stdin=":clear all\n:breaks\n").stdout


class Pty:
    """The console in a real terminal."""

    def __init__(self, terminal: Terminal, *arguments: str) -> None:
        main, side = pty.openpty()
        self.fd = main
        self.said = ""
        self.process = subprocess.Popen(
            terminal.command(*arguments),
            env={**terminal.env, "TERM": "xterm"},
            stdin=side,
            stdout=side,
            stderr=side,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(side)

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def expect(self, pattern: str, timeout: float = 60) -> re.Match[str]:
        """Read until it comes; what came before it is forgotten."""
        deadline = time.monotonic() + timeout
        while not (found := re.search(pattern, self.said)):
            ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"waited for {pattern!r} in {self.said!r}"
            self.said += os.read(self.fd, 65536).decode(errors="replace")
        self.said = self.said[found.end() :]
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_console_outlives_the_hub(terminal: Terminal) -> None:
    counting = api.line_of(JOB, "the count")
    hub = api.hub_pid(terminal.cluster.url)
    shell = Pty(terminal, "attach", "Rank:1")
    try:
        shell.expect(r"\(Rank:1\) ")
        shell.type(f":break {counting}\n")
        number = shell.expect(rf"(\d+)  \S+:{counting}\S*\r\n")[1]
        shell.expect(r"\(Rank:1\) ")
        shell.type("mine = 41\n")
        shell.expect(r"mine = 41\r\n")
        shell.expect(r"\(Rank:1\) ")
        os.kill(hub, signal.SIGKILL)
        shell.expect("The connection to the hub was lost; the worker stays as it is")
        shell.expect(r"The hub is there again: on with the same session\S+\r\n\(Rank:1\) ")
        assert api.hub_pid(terminal.cluster.url) != hub
        shell.type("mine + 1\n")
        shell.expect(r"mine \+ 1\r\n42\r\n\(Rank:1\) ")
        shell.type(":breaks\n")
        shell.expect(rf"\r\n{number}  \S+:{counting}\S*\r\n")
        shell.type(":next\n")
        shell.expect(r"stopped\S* \(step\) at ")
        shell.type("c\n")
        shell.expect(rf"stopped\S* \(breakpoint\) at \S+:{counting}\S* in ")
        shell.type(":clear all\n")
        shell.expect("removed ")
        shell.type(":detach\n")
        shell.expect("Detached; the worker runs on")
        assert shell.process.wait(30) == 0
    finally:
        shell.close()


def test_attach_in_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    end = tmp_path / "end"
    shell = Pty(terminal, "attach", "Rank:0")
    try:
        shell.expect(r"\(Rank:0\) ")
        shell.type("self.ste\t\n")
        shell.expect(r"self\.steps\r\n\d+\r\n")
        shell.expect(r"\(Rank:0\) ")
        # Ctrl-C ends the waiting, and the value comes when it is there.
        shell.type(f"while not __import__('os').path.exists({str(end)!r}): __import__('time').sleep(0.05)\n\n")
        shell.expect(r"\.\.\. \r\n")
        wait_for("it to run", lambda: "still evaluates" in str(terminal.json("eval", "1", "--on", "Rank:0")))
        shell.type("\x03")
        shell.expect("It goes on in the worker")
        end.touch()
        shell.expect("while not .*: done")
        shell.expect(r"\(Rank:0\) ")
        shell.type("loss\n")
        shell.expect(r"loss\r\n0\.5\r\n\(Rank:0\) ")
        shell.type("\x04")
        shell.expect("stays attached and stopped")
        assert shell.process.wait(30) == 0
    finally:
        shell.close()
