"""What ``raydebug.step`` costs training code, and the hub to infer steps of jobs that don't call it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from raydebug.hub.model.timeline.cycles import Calls, infer
from raydebug.worker import link as link_module
from raydebug.worker.steps import step
from tests.bench.protocol import Row

TASKS = 100_000

# In an interpreter of its own: no Ray there, as in a script that was taken home.
DISABLED = """
import time, raydebug
def nothing(number): pass
def ns(call):
    best = 1e9
    for _ in range(7):
        start = time.perf_counter_ns()
        for number in range(20_000):
            call(number)
        best = min(best, (time.perf_counter_ns() - start) / 20_000)
    return best
raydebug.step(0)
print(ns(raydebug.step), ns(nothing))
"""


def disabled_ns() -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", DISABLED], check=True, capture_output=True, text=True)
    ours, nothing = done.stdout.split()
    return float(ours), float(nothing)


def enabled_us() -> tuple[float, float]:
    """A call with somebody who reads at the other end; a bare send to it."""
    with tempfile.TemporaryDirectory(prefix="rdb-") as name:
        path = str(Path(name) / "w.sock")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen(8)
        # In a process of its own: a thread would wait for this one's interpreter lock, and this one for it.
        reader = os.fork()
        if reader == 0:
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=_drain, args=(peer,), daemon=True).start()
        before, link_module.helper_path = link_module.helper_path, lambda: path
        try:
            ours = _us_each(step)
            bare = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            bare.connect(path)
            peer_us = _us_each(lambda _number: bare.send(b"x" * 21))
            bare.close()
        finally:
            link_module.helper_path = before
            link_module.link.close()
            os.kill(reader, 9)
            os.waitpid(reader, 0)
            listener.close()
    return ours, peer_us


def _drain(peer: socket.socket) -> None:
    while peer.recv(64):
        pass


def _us_each(call: Callable[[int], object]) -> float:
    """The median of calls with pauses between, as steps have them."""
    took = []
    for number in range(2_000):
        start = time.perf_counter_ns()
        call(number)
        took.append(time.perf_counter_ns() - start)
        time.sleep(0.0002)
    return float(np.median(took)) / 1e3


def training(tasks: int) -> Calls:
    """Steps of seven calls on eight ranks each, a validation every fifth."""
    letters = np.concatenate([[8, 8], np.tile([*([0, 1, 2, 3, 4, 5, 6] * 5), 0, 1], tasks // (37 * 8) + 1)])
    methods = np.repeat(letters, 8)[:tasks]
    members = np.tile(np.arange(8), len(letters))[:tasks] + 10 * (methods % 3)
    return Calls(np.ones(tasks, np.int64), np.arange(tasks) * 1_000, methods % 3, methods, members)


def shuffled(tasks: int) -> Calls:
    draw = np.random.default_rng(1)
    methods = draw.integers(0, 8, tasks)
    return Calls(
        np.ones(tasks, np.int64), np.arange(tasks) * 1_000, methods % 3, methods, draw.integers(0, 8, tasks)
    )  # fmt: skip


def infer_ms(calls: Calls) -> float:
    took = []
    for _ in range(5):
        start = time.perf_counter()
        infer(calls)
        took.append(time.perf_counter() - start)
    return min(took) * 1e3


def bench() -> list[Row]:
    off, nothing = disabled_ns()
    on, bare = enabled_us()
    return [
        Row("raydebug.step outside Ray", off, "ns", nothing, "an empty function", "< 100 ns"),
        Row("raydebug.step in a job", on, "us", bare, "a bare send", "a few us"),
        Row("inferring steps, 100,000 tasks in a cycle", infer_ms(training(TASKS)), "ms", budget="< 50 ms"),
        Row("inferring steps, 100,000 tasks in none", infer_ms(shuffled(TASKS)), "ms"),
    ]
