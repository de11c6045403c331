"""Hub and helper killed again and again while a job runs: they come back, and Ray notices nothing."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from raydebug.plugin.supervisor import STEADY_S
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import command, ours, plugin_in

JOB = Path(__file__).parent / "jobs" / "steps.py"
KILLS, QUICK, BACK_S, MOST_S = 10, 3, 3.0, 10.0
"""The first few are killed as soon as they are back; one that goes on like that is restarted later and later.
``MOST_S``: the limit on however busy a machine."""


class Steps:
    """Follows the job: its newest step and the pids of its actors."""

    def __init__(self, cluster: RayCluster) -> None:
        self.proc = cluster.run_script(str(JOB))
        self.number, self.pids = 0, [0]
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.proc.stdout
        for line in self.proc.stdout:
            if line.startswith("STEP"):
                self.number, *self.pids = map(int, line.split()[1:])


def of_ray(cluster: RayCluster) -> set[tuple[int, float]]:
    """Its raylet, GCS, dashboard and agents: those that must not notice."""
    names = ["gcs_server", "raylet/raylet", "dashboard/dashboard.py", "dashboard/agent.py", "DashboardAgent"]
    names += ["runtime_env/agent", "RuntimeEnvAgent"]
    found = cluster.processes()
    return {(p.pid, p.create_time()) for p in found if any(name in command(p)[:4000] for name in names)}


def helper_of(cluster: RayCluster) -> psutil.Process:
    (found,) = [p for p in ours(cluster) if "raydebug.helper" in command(p)]
    return found


def kill_again_and_again(what: str, pid: Callable[[], int], up: Callable[[], object]) -> list[float]:
    """How long each took to be back."""
    took = []
    for number in range(KILLS):
        old = wait_for(what, pid)
        wait_for(f"{what} to be up", up, period=0.02)
        time.sleep(random.uniform(0, 0.5) + (0 if number < QUICK else STEADY_S + random.uniform(0, 1)))
        os.kill(old, signal.SIGKILL)
        killed = time.monotonic()
        wait_for(f"the next {what}", lambda: pid() != old and up(), period=0.02)  # noqa: B023
        took.append(time.monotonic() - killed)
    print(f"{what} back after: {', '.join(f'{seconds:.2f}' for seconds in took)} s")
    return took


@pytest.mark.full
@pytest.mark.timeout(900)
def test_kill_hub_and_helper_again_and_again() -> None:
    plugin_in()
    with RayCluster(num_cpus=2) as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        job = Steps(cluster)
        try:
            wait_for("the job", lambda: job.number > 10, timeout=120)

            def helper_up() -> bool:
                return [node.helper for node in api.topology(cluster.url).nodes] == ["up"]

            wait_for("the helper", helper_up)
            ray_before, ranks = of_ray(cluster), list(job.pids)
            assert len(ray_before) >= 4
            # Each start is a second of CPU; where others want the cores, too, that takes longer.
            limit = min(MOST_S, BACK_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
            print(f"load {os.getloadavg()[0]:.1f}, so the limit is {limit:.1f} s")
            hub = kill_again_and_again("hub", lambda: api.hub_pid(cluster.url), lambda: True)
            helper = kill_again_and_again("helper", lambda: helper_of(cluster).pid, helper_up)
            step = job.number
            wait_for("the job to go on", lambda: job.number > step + 10)
            assert job.pids == ranks, "an actor was restarted"
            assert of_ray(cluster) == ray_before
            assert max(hub) < limit, hub
            assert max(helper) < limit, helper
        finally:
            job.proc.kill()
            job.proc.wait()
        left = ours(cluster)
        cluster.stop_gently()
        wait_for("the end of all that is ours", lambda: not any(command(p) for p in left), timeout=10)
        assert not ours(cluster)
