from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from raydebug.api.helper import Dump, Stacks
from raydebug.helper import stacks
from raydebug.helper.stacks import PYSPY_FIX, Dumper, explain, parse_dump, ptrace_problem, run_capped

ONE = (
    b'[{"pid":1,"thread_id":5,"thread_name":"MainThread","os_thread_id":7,"active":true,"owns_gil":true,"frames":'
    b'[{"name":"A.f","filename":"/a.py","module":null,"short_filename":"a.py","line":3,'
    b'"locals":[{"name":"x","addr":1,"arg":true,"repr":"[1, 2]"},{"name":"y","addr":2,"arg":false,"repr":null}]}],'
    b'"process_info":null}]'
)


def test_parse() -> None:
    (thread,) = parse_dump(ONE, with_locals=True)
    assert (thread.thread_id, thread.name, thread.active) == (7, "MainThread", True)
    assert thread.frames[0].locals == {"x": "[1, 2]", "y": "?"}
    assert parse_dump(ONE, with_locals=False)[0].frames[0].locals is None
    with pytest.raises(msgspec.MsgspecError):
        parse_dump(ONE[:-9], with_locals=False)


def test_explain() -> None:
    said = "Error: Permission denied\n\nCaused by:\n    0: os error 13\n\nStack backtrace:\n   0: anyhow::x"
    assert "ptrace_scope" in explain(said)
    assert "SYS_PTRACE" in explain(said)
    assert "anyhow" not in explain(said)
    assert explain("") == "py-spy failed: py-spy gave no reason"


@pytest.mark.parametrize(
    ("scope", "capabilities", "fine"),
    [
        (None, 0, True),
        ("0", 0, True),
        ("1", 0, False),
        ("1", 1 << 19, True),
        ("2", 1 << 19, True),
        ("3", 1 << 19, False),
    ],
)
def test_ptrace(scope: str | None, capabilities: int, fine: bool) -> None:
    problem = ptrace_problem(scope, capabilities, "/bin/py-spy")
    assert (problem is None) is fine
    assert ptrace_problem(scope, capabilities, None) == PYSPY_FIX


async def test_a_real_process() -> None:
    code = "def waits(n):\n    print('up', flush=True)\n    input()\nwaits(42)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1) as child:  # noqa: ASYNC220
        assert child.stdout is not None
        child.stdout.readline()
        answer = await ask(Dumper(lambda _pid: True), 3, child.pid, True)
        child.kill()
    assert answer.error is None
    assert (answer.id, answer.pid) == (3, child.pid)
    assert answer.threads[0].frames[0].locals == {"n": "42"}


async def test_only_watched_processes() -> None:
    answer = await ask(Dumper(lambda _pid: False), 1, os.getpid())
    assert "isn't one of those watched" in (answer.error or "")


async def ask(dumper: Dumper, number: int, pid: int, with_locals: bool = False) -> Stacks:
    answers: list[Stacks] = []

    async def deliver(answer: Stacks) -> None:
        answers.append(answer)

    await dumper.dump(Dump(id=number, pid=pid, locals=with_locals), deliver)
    return answers[0]


def fake_pyspy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    path = tmp_path / "py-spy"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(stacks, "find_pyspy", lambda: str(path))


async def test_a_torn_dump_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tmp_path / "count"
    (tmp_path / "whole").write_bytes(ONE)
    fake_pyspy(
        tmp_path,
        monkeypatch,
        f"echo x >> {count}\nif [ $(wc -l < {count}) -lt 3 ]; then echo '[{{'; else cat {tmp_path}/whole; fi\n",
    )
    answer = await ask(Dumper(lambda _pid: True), 1, 1)
    assert answer.error is None
    assert len(answer.threads) == 1


async def test_a_dump_that_is_too_slow_or_too_big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "TIMEOUT_S", 0.2)
    fake_pyspy(tmp_path, monkeypatch, "exec sleep 60\n")
    assert "took over" in ((await ask(Dumper(lambda _pid: True), 1, 1)).error or "")
    code, _, why = await run_capped(["/bin/sh", "-c", "exec yes"], 10, 1 << 20)
    assert code is None
    assert "over 1 MB" in why


async def test_two_at_once_and_the_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    (tmp_path / "whole").write_bytes(ONE)
    fake_pyspy(tmp_path, monkeypatch, f"echo + >> {log}\nsleep 0.05\necho - >> {log}\ncat {tmp_path}/whole\n")
    dumper = Dumper(lambda _pid: True)
    answers = await asyncio.gather(*(ask(dumper, i, i) for i in range(10)))
    assert [a.id for a in answers] == list(range(10))
    depth, most = 0, 0
    for sign in log.read_text().split():
        depth += 1 if sign == "+" else -1
        most = max(most, depth)
    assert most == 2
