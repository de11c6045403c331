"""What viewers of our page cost Ray's dashboard, in whose process the gateway runs.

Its event loop's lag can't be measured from outside; how late it answers a tiny question of its own (``/api/version``,
asked 50 times a second on one connection) can, and so can its CPU. The peer is the same dashboard without viewers.
"""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.figures import percentile, say
from tests.bench.protocol import Row
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.page import many_pages
from tests.support.plugin import command, plugin_in

JOB = Path(__file__).parent / "jobs" / "calls.py"
ACTORS, VIEWERS, ROUNDS, SECONDS = 8, (0, 1, 50), 3, 6


@dataclass
class Seen:
    late_ms: list[float]
    cpu: float = 0
    received: int = 0


def ask(port: int, seconds: float) -> list[float]:
    """How long each answer took, ms."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    late = []
    until = time.monotonic() + seconds
    while (began := time.monotonic()) < until:
        connection.request("GET", "/api/version")
        connection.getresponse().read()
        took = time.monotonic() - began
        late.append(took * 1e3)
        time.sleep(max(0, 0.02 - took))
    connection.close()
    return late


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def bench() -> list[Row]:
    plugin_in()
    found = {number: Seen([]) for number in VIEWERS}
    with RayCluster() as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        job = cluster.run_script(str(JOB), str(ACTORS))
        try:
            assert job.stdout
            while "READY" not in (line := job.stdout.readline()):
                assert line, "the job ended"
            dashboard = next(p for p in cluster.processes() if "dashboard/dashboard.py" in command(p))
            ask(cluster.dashboard_port, 2)
            for _ in range(ROUNDS):  # in turn, so that what else goes on here hits all alike
                for number in VIEWERS:
                    with many_pages(cluster.url, number) as received:
                        time.sleep(1)
                        before = cpu_seconds(dashboard), sum(received)
                        seen = found[number]
                        seen.late_ms += ask(cluster.dashboard_port, SECONDS)
                        seen.cpu += (cpu_seconds(dashboard) - before[0]) / SECONDS / ROUNDS * 100
                        seen.received += sum(received) - before[1]
                        assert not number or min(received) > 0, "a viewer got nothing"
        finally:
            job.kill()
            job.wait()
    for number, seen in found.items():
        p50, p99 = percentile(seen.late_ms, 0.5), percentile(seen.late_ms, 0.99)
        each = seen.received / 1024 / SECONDS / ROUNDS / max(1, number)
        say(f"{number} viewers: p50 {p50:.2f} ms, p99 {p99:.2f} ms, CPU {seen.cpu:.1f} %, {each:.1f} KiB/s a viewer")

    def late(number: int, share: float, budget: str = "") -> Row:
        what = f"dashboard answers a question of Ray's, {number} viewer{'s' * (number > 1)}, p{share * 100:.0f}"
        ours, alone = (percentile(found[n].late_ms, share) for n in (number, 0))
        return Row(what, ours, "ms", alone, "no viewer", budget)

    most = VIEWERS[-1]
    return [
        late(1, 0.5),
        late(1, 0.99),
        late(most, 0.5),
        late(most, 0.99, "+ 10 ms"),
        Row(f"dashboard's CPU, {most} viewers", found[most].cpu, "% of a core", found[0].cpu, "no viewer"),
    ]
