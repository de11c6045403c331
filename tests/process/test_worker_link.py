"""``raydebug.step`` from real processes to a real helper: known by their credentials, never in the way."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from raydebug.api.frames import STEP
from raydebug.api.helper import StepMark
from raydebug.hub.model.pending_steps import PendingSteps
from raydebug.hub.nodes.dial import NodeAddress
from raydebug.hub.sources.helpers import Helpers
from raydebug.worker import link as link_module
from raydebug.worker import steps as steps_module
from raydebug.worker.link import Link
from raydebug.worker.steps import step
from tests.process.test_helpers import NODE, SECRET, secret, until
from tests.support.plugin import helper_process, small_agent


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Link]:
    """This process's own, to a helper's socket in ``tmp_path``."""
    fresh = Link()
    monkeypatch.setattr(steps_module, "link", fresh)
    monkeypatch.setattr(link_module, "helper_path", lambda: str(tmp_path / "w.sock"))
    monkeypatch.setattr(link_module, "RETRY_S", 0.05)
    yield fresh
    fresh.close()


def say_in_a_fork(number: int) -> int:
    child = os.fork()
    if child == 0:
        step(number)
        os._exit(0)
    os.waitpid(child, 0)
    return child


class Hub:
    def __init__(self) -> None:
        self.marks: list[StepMark] = []
        self.helpers = Helpers(
            secret, on_events=lambda _n, _e: None, on_steps=lambda _n, marks: self.marks.extend(marks)
        )


async def test_steps_reach_each_hub_with_the_pid_of_who_said_them(link: Link, tmp_path: Path) -> None:
    sockets = {"worker_socket": str(tmp_path / "w.sock")}
    async with small_agent(tmp_path / "h.sock") as url:
        with helper_process(tmp_path / "h.sock", node_id=NODE, secret=SECRET, **sockets):
            for number in range(100):
                step(number)
            child = say_in_a_fork(1000)
            for _ in range(2):  # the second one is a hub that was started again
                hub = Hub()
                await hub.helpers.sync([NodeAddress(NODE, url)])
                await until(lambda hub=hub: len(hub.marks) == 101)  # type: ignore[misc]
                await hub.helpers.close()
                assert [mark.number for mark in hub.marks] == [*range(100), 1000]
                assert {mark.pid for mark in hub.marks[:100]} == {os.getpid()}
                assert (hub.marks[100].pid, hub.marks[100].parent_pid) in [(child, os.getpid()), (child, 0)]
            assert link.dropped == 0


async def test_a_helper_that_goes_costs_nothing_and_is_found_again(link: Link, tmp_path: Path) -> None:
    sockets = {"worker_socket": str(tmp_path / "w.sock")}
    step(1)
    assert link.dropped == 1
    for life in range(2):
        async with small_agent(tmp_path / f"h{life}.sock") as url:
            with helper_process(tmp_path / f"h{life}.sock", node_id=NODE, secret=SECRET, **sockets) as child:
                hub = Hub()
                await hub.helpers.sync([NodeAddress(NODE, url)])

                def heard(life: int = life, hub: Hub = hub) -> bool:
                    step(100 + life)
                    return any(mark.number == 100 + life for mark in hub.marks)

                await until(heard)
                await hub.helpers.close()
                child.kill()
                child.wait()
        step(5)


async def test_garbage_ends_that_connection_alone(link: Link, tmp_path: Path) -> None:
    path = str(tmp_path / "w.sock")
    async with small_agent(tmp_path / "h.sock") as url:
        with helper_process(tmp_path / "h.sock", node_id=NODE, secret=SECRET, worker_socket=path):
            for frame in (b"x", b"\x02" + b"\0" * 20, b"y" * 5000):
                bad = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                bad.connect(path)
                bad.send(frame)
                await asyncio.to_thread(bad.recv, 10)  # until it hangs up
                bad.close()
            step(7)
            hub = Hub()
            await hub.helpers.sync([NodeAddress(NODE, url)])
            await until(lambda: [mark.number for mark in hub.marks] == [7])
            await hub.helpers.close()


def test_one_that_nobody_reads_is_dropped_and_counted(link: Link, tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "w.sock"))
    listener.listen(1)
    for number in range(100_000):
        step(number)
    assert 0 < link.dropped < 100_000
    listener.close()


async def test_a_restarted_helper_gets_the_next_step_at_once(link: Link, tmp_path: Path) -> None:
    path = str(tmp_path / "w.sock")
    async with small_agent(tmp_path / "h.sock") as url:
        with helper_process(tmp_path / "h.sock", node_id=NODE, secret=SECRET, worker_socket=path) as child:
            step(1)
            child.kill()
            child.wait()
        (tmp_path / "h.sock").unlink()
        with helper_process(tmp_path / "h.sock", node_id=NODE, secret=SECRET, worker_socket=path):
            step(2)
            hub = Hub()
            await hub.helpers.sync([NodeAddress(NODE, url)])
            await until(lambda: [mark.number for mark in hub.marks] == [2])
            await hub.helpers.close()
    assert link.dropped == 0


def test_a_fork_never_speaks_as_its_parent(link: Link, tmp_path: Path) -> None:
    path = tmp_path / "w.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen(8)
    step(1)
    mine, _ = listener.accept()
    path.unlink()  # the child can't get a connection of its own
    say_in_a_fork(2)
    mine.setblocking(False)
    assert len(mine.recv(100)) == STEP.size
    with pytest.raises(BlockingIOError):
        mine.recv(100)
    step(3)
    assert STEP.unpack(mine.recv(100))[1] == 3
    mine.close()
    listener.close()


def test_a_socket_of_another_user_gets_nothing(link: Link, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "w.sock"))
    listener.listen(8)
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    step(1)
    assert link.dropped == 1
    peer, _ = listener.accept()
    assert peer.recv(100) == b""
    peer.close()
    listener.close()


def test_steps_from_many_threads_arrive_whole(link: Link, tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "w.sock"))
    listener.listen(64)
    step(0)
    peer, _ = listener.accept()

    def say(base: int) -> None:
        for number in range(base, base + 20):
            step(number)

    said = [threading.Thread(target=say, args=(base,)) for base in range(0, 100, 20)]
    for thread in said:
        thread.start()
    for thread in said:
        thread.join()
    got = sorted(STEP.unpack(peer.recv(100))[1] for _ in range(101 - link.dropped))
    assert link.dropped or got == sorted([0, *range(100)])
    peer.close()
    listener.close()


def test_whole_numbers_of_other_kinds_count(link: Link, tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(tmp_path / "w.sock"))
    listener.listen(8)
    for number in (np.int64(7), np.int32(8), 9.0, np.float32(10), True):
        step(number)  # type: ignore[arg-type]
    peer, _ = listener.accept()
    assert [STEP.unpack(peer.recv(100))[1] for _ in range(5)] == [7, 8, 9, 10, 1]
    peer.close()
    listener.close()


@pytest.mark.parametrize("odd", [None, "3", 1 << 70, -(1 << 70), float("nan"), 3.5, float("inf"), [], object()])
def test_what_is_no_number_is_dropped(link: Link, odd: object, capsys: pytest.CaptureFixture[str]) -> None:
    step(odd)  # type: ignore[arg-type]
    assert link.dropped == 1
    assert capsys.readouterr() == ("", "")


def test_outside_ray_it_does_nothing_and_imports_nothing() -> None:
    code = (
        "import raydebug, sys; [raydebug.step(n) for n in range(1000)];"
        "print(sorted(m for m in ('ray', 'torch', 'numpy', 'msgspec') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_steps_of_a_process_that_becomes_known_later() -> None:
    known: dict[tuple[str, int], str] = {}
    said: list[tuple[str, str, int, int]] = []
    pending = PendingSteps(lambda node, pid: known.get((node, pid)), lambda *one: said.append(one))
    pending.add("n", [StepMark(pid=1, number=4, at_ns=10), StepMark(pid=2, number=4, at_ns=11)])
    assert said == []
    known["n", 2] = "02"
    pending.settle()
    assert said == [("02", "n/2", 4, 11)]
    known["n", 1] = "01"
    pending.settle()
    pending.settle()
    assert said == [("02", "n/2", 4, 11), ("01", "n/1", 4, 10)]
    pending.add("n", [StepMark(pid=3, number=5, at_ns=20, parent_pid=1)])  # forked by one that is known
    assert said[2:] == [("01", "n/3", 5, 20)]
