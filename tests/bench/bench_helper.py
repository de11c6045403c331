"""What the node helper costs with 100 watched processes whose titles change, as sync actors' do.

The peer reads the same titles at the same times with psutil, as it is used everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from raydebug.helper.server import PERIOD_S
from raydebug.hub.nodes.dial import NodeAddress
from raydebug.hub.sources.helpers import Helpers
from tests.bench.bench_dashboard import cpu_seconds
from tests.bench.figures import say
from tests.bench.protocol import Row
from tests.support.plugin import helper_process, small_agent

WORKERS, SECONDS, SECRET, NODE = 100, 20, "s" * 64, "ab" * 28

# Writes its titles over its own arguments, which is what setproctitle does.
WORKER = """
import ctypes, sys, time
fields = open("/proc/self/stat").read().rpartition(")")[2].split()
start, end = int(fields[45]), int(fields[46])
def title(text):
    ctypes.memmove(start, text.encode().ljust(end - start, b"\\0"), end - start)
while True:
    title("ray::Rank.forward"); time.sleep(1)
    title("ray::Rank"); time.sleep(1)
"""


@contextlib.contextmanager
def workers(number: int) -> Iterator[list[int]]:
    started = [subprocess.Popen([sys.executable, "-S", "-E", "-c", WORKER]) for _ in range(number)]
    try:
        yield [proc.pid for proc in started]
    finally:
        for proc in started:
            proc.kill()
        for proc in started:
            proc.wait()


async def watch(agent: str, pids: list[int], pid: int) -> tuple[float, float, int]:
    """Percent of a core, MiB, titles that came."""
    came = 0

    def count(_node: str, changed: list[object], _gone: list[int]) -> None:
        nonlocal came
        came += len(changed)

    async def secret() -> str:
        return SECRET

    helpers = Helpers(secret, on_titles=count)  # type: ignore[arg-type]
    try:
        await helpers.sync([NodeAddress(NODE, agent)])
        while helpers.state(NODE)[0] != "up":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await helpers.watch(NODE, pids)
        await asyncio.sleep(3)
        assert len(helpers.titles) == len(pids)
        process = psutil.Process(pid)
        before, began, came = cpu_seconds(process), time.monotonic(), 0
        await asyncio.sleep(SECONDS)
        share = (cpu_seconds(process) - before) / (time.monotonic() - began) * 100
        return share, process.memory_info().rss / (1 << 20), came
    finally:
        await helpers.close()


async def served(socket: Path, pids: list[int], pid: int) -> tuple[float, float, int]:
    async with small_agent(socket) as agent:
        return await watch(agent, pids, pid)


def by_psutil(pids: list[int]) -> float:
    """Percent of a core."""
    processes = [psutil.Process(pid) for pid in pids]
    before, looks = time.process_time(), 20
    for _ in range(looks):
        time.sleep(PERIOD_S)
        for process in processes:
            process.cmdline()
    return (time.process_time() - before) / looks / PERIOD_S * 100


def bench() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="rdb-") as name, workers(WORKERS) as pids:
        time.sleep(2)
        socket = Path(name) / "h.sock"
        with helper_process(socket, node_id=NODE, secret=SECRET) as helper:
            share, rss, came = asyncio.run(served(socket, pids, helper.pid))
        peer = by_psutil(pids)
    say(f"{came} changes of titles in {SECONDS} s; a look every {PERIOD_S:g} s")
    what = f"node helper, {WORKERS} workers"
    return [
        Row(f"{what}: CPU", share, "% of a core", peer, "the same looks by psutil", "<= 1 %"),
        Row(f"{what}: memory", rss, "MiB"),
    ]
