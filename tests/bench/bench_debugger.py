"""The debugger on a real cluster: attaching, evaluating, stepping, and what it leaves behind.

Ours is a websocket client of the dashboard's port. The peer speaks DAP straight to the same workers' debugpy, as Ray
leaves it; ``RAYDEBUG_BENCH_PYTHONS`` names interpreters with Ray and raydebug to measure speeds with, too.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from raydebug import probe
from raydebug.cli.live import Live
from tests.bench.figures import percentile, say, summary
from tests.bench.protocol import Row
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.dap_client import DapClient
from tests.support.plugin import plugin_in

JOB = Path(__file__).parent / "jobs" / "debugged.py"
ATTACHED, EVALUATED, SLOWLY, STEPPED = 30, 400, 40, 40
THREADS = ("main", "pool", "background", "new")


class Job:
    def __init__(self, cluster: RayCluster) -> None:
        self._proc = subprocess.Popen(
            [cluster.python, str(JOB)],
            env={**cluster.env, "RAY_ADDRESS": cluster.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._answer() == "READY"

    def _answer(self) -> Any:
        assert self._proc.stdout
        while not (line := self._proc.stdout.readline()).startswith(("[", "{", '"', "null")):
            assert line, "the job ended"
        return json.loads(line)

    async def tell(self, line: str) -> Any:
        assert self._proc.stdin
        self._proc.stdin.write(line + "\n")
        self._proc.stdin.flush()
        return await asyncio.to_thread(self._answer)

    def stop(self) -> None:
        self._proc.kill()
        self._proc.wait()


async def timed(work: Callable[[], Awaitable[Any]], times: int) -> list[float]:
    """Milliseconds of each."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - start) * 1000)
    return taken


class Ours:
    """One worker, by the hub."""

    def __init__(self, live: Live, worker_id: str) -> None:
        self._live = live
        self._worker_id = worker_id

    async def ask(self, command: str, **arguments: Any) -> Any:
        return await self._live.debug(self._worker_id, command, **arguments)

    def stopped(self, after: int) -> Any:
        row = self._live.tables["sessions"].get(self._worker_id)
        return (
            next((one for one in row.threads if one.state == "stopped" and one.file and one.stop > after), None)
            if (row is not None)
            else None
        )

    async def wait(self, after: int = 0) -> Any:
        return await self._live.until(lambda: self.stopped(after), 30)

    async def paused(self) -> None:
        """It waits for a debugger, and that is on the page: as long as nobody can click, nobody attaches."""

        def waits() -> bool:
            members = [one for site in self._live.tables["paused"].values() for one in site.members]
            return any(one.worker_id == self._worker_id and not one.attached for one in members)

        await self._live.until(waits, 60)

    async def attach(self) -> Any:
        """As the page does it; the thread, and what is known of it."""
        await self.ask("attach")
        thread = await self.wait()
        return thread, await self.ask("look", threadId=thread.threadId)


async def raw_attach(host: str, port: int) -> tuple[DapClient, int, int]:
    """Stack and locals by DAP alone; the client, the thread, and its frame."""
    client = await DapClient.connect(host, port)
    await client.attach(filters=["uncaught"])
    thread, frame = await client.stopped()
    scopes = await client.request("scopes", frameId=frame["id"])
    await client.request("variables", variablesReference=scopes["scopes"][0]["variablesReference"])
    return client, thread, frame["id"]


async def leave(client: DapClient) -> None:
    """As Ray's extension does: disconnect, and the worker goes on."""
    await client.request("disconnect", terminateDebuggee=False)
    await client.close()
    await asyncio.sleep(0.3)


async def by_hub(live: Live, job: Job) -> dict[str, list[float]]:
    """Attaching in turns, ours and raw; then evaluating and stepping by the hub, and the same raw, once we have been
    there: the mend of the socket stays."""
    worker_id, _, _ = await job.tell("make trips")
    await job.tell("stop trips")
    ours = Ours(live, worker_id)
    taken: dict[str, list[float]] = {"attach": [], "attach, raw": []}
    await ours.paused()
    _, host, port = await job.tell("ids trips")
    for number in range(ATTACHED + 1):
        await ours.paused()
        await asyncio.sleep(0.3)
        mine = await timed(ours.attach, 1)
        await ours.ask("detach")
        await ours.paused()
        await asyncio.sleep(0.5)
        start = time.perf_counter()
        client, _, _ = await raw_attach(host, port)
        raw = (time.perf_counter() - start) * 1000
        await leave(client)
        if number:  # the first is with a worker that was never debugged
            taken["attach"] += mine
            taken["attach, raw"].append(raw)
    await ours.paused()
    thread, look = await ours.attach()
    frame = look["frame_id"]

    async def ask() -> None:
        await ours.ask("evaluate", expression="count", frameId=frame, context="watch")

    async def step() -> None:
        nonlocal thread
        await ours.ask("next", threadId=thread.threadId)
        thread = await ours.wait(thread.stop)

    await timed(ask, 20)
    taken["evaluate"] = await timed(ask, EVALUATED)
    await timed(step, 3)
    taken["step"] = await timed(step, STEPPED)
    await ours.ask("detach")
    await ours.paused()
    await asyncio.sleep(0.5)
    client, _, frame = await raw_attach(host, port)
    same = probe.call("evaluate", expression="count", frame=frame)
    await client.request("evaluate", expression=probe.bootstrap())
    for name, expression in (("evaluate, mended", "count"), ("evaluate by the probe, mended", same)):
        evaluate = functools.partial(
            client.request, "evaluate", expression=expression, frameId=frame, context="clipboard"
        )
        await timed(evaluate, 20)
        taken[name] = await timed(evaluate, EVALUATED)
    await leave(client)
    await job.tell("kill trips")
    return taken


async def as_ray_leaves_it(live: Live, job: Job) -> dict[str, list[float]]:
    """Evaluating and stepping in a worker that raydebug never touched."""
    worker_id, _, _ = await job.tell("make untouched")
    await job.tell("stop untouched")
    await Ours(live, worker_id).paused()
    client, thread, frame = await raw_attach(*(await job.tell("ids untouched"))[1:])

    async def step() -> None:
        await client.request("next", threadId=thread)
        await client.wait("stopped")
        await client.request("stackTrace", threadId=thread)

    evaluate = functools.partial(client.request, "evaluate", expression="count", frameId=frame, context="watch")
    taken = {"evaluate, as Ray leaves it": await timed(evaluate, SLOWLY)}
    taken["step, raw"] = await timed(step, STEPPED)
    await leave(client)
    await job.tell("kill untouched")
    return taken


async def speeds(live: Live, job: Job) -> dict[str, dict[str, float]]:
    """By whom it was debugged: for each kind of thread, seconds after continue over those before."""
    found: dict[str, dict[str, float]] = {}
    for name in ("ours", "theirs"):
        worker_id, _, _ = await job.tell(f"make {name}")
        await job.tell(f"time {name}")
        ours = Ours(live, worker_id)
        await ours.paused()
        if name == "ours":
            thread, _ = await ours.attach()
            await ours.ask("continue", threadId=thread.threadId)
        else:
            client, number, _ = await raw_attach(*(await job.tell(f"ids {name}"))[1:])
            await client.request("continue", threadId=number)
        before, after, _ = await job.tell(f"timed {name}")
        found[name] = {kind: after[kind] / before[kind] for kind in THREADS}
        if name == "theirs":
            await leave(client)
        await job.tell(f"kill {name}")
    return found


async def measure(cluster: RayCluster, trips: bool) -> tuple[dict[str, list[float]], dict[str, dict[str, float]]]:
    job = await asyncio.to_thread(Job, cluster)
    try:
        async with Live(cluster.url, cluster.debugger["X-Raydebug-Token"]) as live:
            await live.subscribe("debug", "paused")
            taken = {**await by_hub(live, job), **await as_ray_leaves_it(live, job)} if trips else {}
            return taken, await speeds(live, job)
    finally:
        job.stop()


def on(python: str, trips: bool) -> tuple[dict[str, list[float]], dict[str, dict[str, float]]]:
    plugin_in(python)
    with RayCluster(python=python, num_cpus=2) as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        return asyncio.run(measure(cluster, trips))


def version(python: str) -> str:
    code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def bench() -> list[Row]:
    taken, slower = on(sys.executable, trips=True)
    for name, values in taken.items():
        say(summary(name, values))
    raw, mended, untouched = "raw DAP", "raw DAP with TCP_NODELAY", "raw DAP as Ray leaves it"

    def row(name: str, ours: str, theirs: str, peer: str, share: float, budget: str = "") -> Row:
        return Row(name, percentile(taken[ours], share), "ms", percentile(taken[theirs], share), peer, budget)

    def share(of: float, budget: str) -> Row:
        """Of the hub and all that lies between it and debugpy: over the same request, straight to debugpy."""
        raw_ms = percentile(taken["evaluate by the probe, mended"], of)
        name = f"of that, the hub's share, p{of * 100:.0f}"
        return Row(name, percentile(taken["evaluate"], of) - raw_ms, "ms", raw_ms, "the request itself, mended", budget)

    rows = [
        row("click attach -> stack and locals, p50", "attach", "attach, raw", raw, 0.5, "< 300 ms"),
        row("the same, p95", "attach", "attach, raw", raw, 0.95),
        row("evaluate, p50", "evaluate", "evaluate, as Ray leaves it", untouched, 0.5, "< 8 ms"),
        row("the same, p99", "evaluate", "evaluate, as Ray leaves it", untouched, 0.99, "< 30 ms"),
        row("the same, p50", "evaluate", "evaluate, mended", mended, 0.5),
        share(0.5, "< 2 ms"),
        share(0.99, "< 10 ms"),
        row("step over -> where it stands, p50", "step", "step, raw", untouched, 0.5),
    ]
    others = [one for one in os.environ.get("RAYDEBUG_BENCH_PYTHONS", "").split(os.pathsep) if one]
    found = {version(sys.executable): slower}
    found |= {version(python): on(python, trips=False)[1] for python in others}
    for python, of in found.items():
        for kind in THREADS:
            name = f"a loop's time after continue over before, Python {python}, {kind} thread"
            rows.append(Row(name, of["ours"][kind], "x", of["theirs"][kind], untouched, "x 1.0 to 1.1"))
    return rows
