"""What watching costs a busy job: its task rate, and the CPU of Ray's node agent and GCS, in four ways to start Ray.

Without raydebug; with it and pull; with it and push (`raydebug start`); and with Ray's own HTTP export of the same
events to a server that throws them away.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from raydebug.cli.install import MODULE, place, site_of_interpreter
from raydebug.ray_compat import push_config
from tests.bench.figures import say
from tests.bench.protocol import Row
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import command

JOB = Path(__file__).parent / "jobs" / "many.py"
TASKS = 20_000
ROUNDS = 3
EXPORT = "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"


class Sink(BaseHTTPRequestHandler):
    """Takes what it is sent and forgets it."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None: ...


@contextlib.contextmanager
def sink() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()


def cpu(cluster: RayCluster, word: str) -> float:
    """CPU seconds of the cluster's processes with this word in their command line."""
    found = 0.0
    for process in cluster.processes():
        with contextlib.suppress(psutil.Error):
            if word in command(process) or word in process.name():
                times = process.cpu_times()
                found += times.user + times.system
    return found


def measure(cluster: RayCluster) -> tuple[float, float, float]:
    """Tasks a second; CPU seconds of the agent and of the GCS for TASKS of them."""
    agent, gcs = cpu(cluster, "DashboardAgent"), cpu(cluster, "gcs_server")
    done = subprocess.run(
        [sys.executable, str(JOB), str(TASKS)],
        env={**cluster.env, "RAY_ADDRESS": cluster.address},
        input="",
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    took = float(next(line for line in done.stdout.splitlines() if line.startswith("TOOK")).split()[1])
    threading.Event().wait(3)  # the last reports
    return TASKS / took, cpu(cluster, "DashboardAgent") - agent, cpu(cluster, "gcs_server") - gcs


def best(cluster: RayCluster, name: str) -> tuple[float, float, float]:
    """The round with the highest rate: the others met something else on this machine."""
    rounds = [measure(cluster) for _ in range(ROUNDS)]
    rate, agent, gcs = max(rounds)
    rates = ", ".join(f"{one[0]:.0f}" for one in rounds)
    say(f"{name}: {rates} tasks/s; agent {agent:.2f} s, GCS {gcs:.2f} s of CPU for {TASKS} tasks")
    return rate, agent, gcs


def bench() -> list[Row]:
    site = site_of_interpreter(None)
    assert site is not None
    found = {}
    (site / MODULE).unlink(missing_ok=True)
    try:
        with RayCluster(num_cpus=2) as cluster:
            found["plain"] = best(cluster, "without raydebug")
        config = push_config()
        if config is not None:
            with sink() as url:
                args = (f"--system-config={json.dumps(config)}",)
                with RayCluster(num_cpus=2, env={EXPORT: url}, head_args=args) as cluster:
                    found["export"] = best(cluster, "Ray's own HTTP export")
    finally:
        place(site)
    for source in ("pull", "push"):
        with RayCluster(num_cpus=2, push=source == "push") as cluster:
            wait_for("the hub", lambda: api.hub_pid(cluster.url))
            found[source] = best(cluster, source)
    rate, agent, _ = found["plain"]
    rows = [
        Row("a busy job's task rate, pull", found["pull"][0], "tasks/s", rate, "without raydebug"),
        Row("a busy job's task rate, push", found["push"][0], "tasks/s", found["pull"][0], "pull", ">= 0.95"),
    ]
    if "export" in found:
        each = 1e6 / TASKS
        rows += [
            Row("the same", found["push"][0], "tasks/s", found["export"][0], "Ray's own HTTP export"),
            Row(
                "Ray's agent, CPU a task over that without raydebug, push",
                max(0.0, found["push"][1] - agent) * each,
                "us",
                max(0.0, found["export"][1] - agent) * each,
                "Ray's own HTTP export",
                "< 50 us",
            ),
        ]
    return rows
