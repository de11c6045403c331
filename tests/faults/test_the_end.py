"""What the end of one leaves of the others, with the real hub and helper."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import command, ours, plugin_in
from tests.support.rays import RAYS


@pytest.mark.parametrize("python", RAYS)
def test_hub_killed_then_ray_stopped(python: str) -> None:
    plugin_in(python)
    with RayCluster(num_cpus=1, python=python) as cluster:
        first = wait_for("the hub", lambda: api.hub_pid(cluster.url))
        wait_for("the helper", lambda: [n.helper for n in api.topology(cluster.url).nodes] == ["up"], timeout=120)
        os.kill(first, signal.SIGKILL)
        killed = time.monotonic()
        wait_for("the next hub", lambda: api.hub_pid(cluster.url) != first)
        print(f"the next hub serves after {time.monotonic() - killed:.2f} s")
        wait_for("its helper", lambda: [n.helper for n in api.topology(cluster.url).nodes] == ["up"], timeout=30)
        left = ours(cluster)
        assert len(left) == 2, [command(p) for p in left]
        cluster.stop_gently()
        wait_for("their end", lambda: not any(command(p) for p in left), timeout=10)
