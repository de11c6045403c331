"""The node helper in a real cluster, dialed through Ray's own agent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from raydebug.hub.nodes.dial import NodeAddress
from raydebug.hub.sources.helpers import Helpers
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import agent_of, plugin_in, with_stand_in
from tests.support.rays import RAYS

DRIVER = """
import os, sys, ray
ray.init()

@ray.remote(num_cpus=0)
class Rank:
    def step(self, path):
        import time
        while not os.path.exists(path):
            time.sleep(0.02)

    def pid(self):
        return os.getpid()

    def pause(self):
        marked = "the place"
        breakpoint()

rank = Rank.remote()
print("PID", ray.get(rank.pid.remote()), flush=True)
for line in sys.stdin:
    word, _, argument = line.strip().partition(" ")
    if word == "step":
        ray.get(rank.step.remote(argument))
    else:
        rank.pause.remote()
"""


def oom_score(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


async def until(what: str, probe: Callable[[], object], timeout: float = 60) -> None:
    deadline = time.monotonic() + timeout
    while not probe():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("python", RAYS)
def test_helper(python: str, tmp_path: Path) -> None:
    plugin_in(python)
    (tmp_path / "driver.py").write_text(DRIVER)
    with RayCluster(num_cpus=1, python=python, env=with_stand_in(python)) as cluster:
        agent = agent_of(cluster)
        driver = subprocess.Popen(
            [python, str(tmp_path / "driver.py")],
            env={**cluster.env, "RAY_ADDRESS": cluster.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            asyncio.run(scenario(cluster, NodeAddress(agent.node_id, agent.url), agent.secret, driver, tmp_path))
        finally:
            driver.kill()
            driver.wait()


async def scenario(
    cluster: RayCluster, address: NodeAddress, secret: str, driver: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert driver.stdin is not None
    assert driver.stdout is not None

    def tell(line: str) -> None:
        assert driver.stdin is not None
        driver.stdin.write(line + "\n")
        driver.stdin.flush()

    async def known() -> str:
        return secret

    def read_pid() -> int | None:
        assert driver.stdout is not None
        line = driver.stdout.readline()
        return int(line.split()[1]) if line.startswith("PID") else None

    pid = await asyncio.to_thread(wait_for, "the actor", read_pid)
    node = address.node_id
    helpers = Helpers(known)
    await helpers.sync([address])
    try:
        await helpers.watch(node, [pid])
        await until("the helper", lambda: helpers.state(node)[0] == "up")
        hello = helpers.hello(node)
        assert hello is not None
        assert hello.ray_version
        helper = psutil.Process(hello.pid)
        assert helper.nice() >= 10
        assert oom_score(hello.pid) == 1000

        def title() -> str:
            found = helpers.titles.get((node, pid))
            return found.title if found else ""

        await until("the idle title", lambda: title() == "ray::Rank")
        began = time.time_ns()
        tell(f"step {tmp_path / 'go'}")
        await until("the method's title", lambda: title() == "ray::Rank.step")
        since = helpers.titles[node, pid].since_ns
        assert since is not None
        assert began <= since <= time.time_ns()
        (tmp_path / "go").touch()
        await until("the idle title again", lambda: title() == "ray::Rank")

        tell("pause")
        frames: list[str] = []

        async def paused() -> bool:
            dump = await helpers.dump(node, pid, locals=True)
            assert dump.error is None or "watched" not in dump.error, dump.error
            for thread in dump.threads:
                for i, frame in enumerate(thread.frames[:-1]):
                    if frame.file.endswith("ray/util/rpdb.py") and frame.function.endswith("set_trace"):
                        below = thread.frames[i + 1]
                        assert below.function.endswith("pause")
                        assert below.file.endswith("driver.py")
                        assert "the place" in (below.locals or {})["marked"]
                        frames.append(below.function)
            return bool(frames)

        deadline = time.monotonic() + 60
        while not await paused():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

        ray_before = rays_own(cluster)
        assert pid in ray_before
        os.kill(hello.pid, signal.SIGKILL)
        killed = time.monotonic()
        await until("the loss to show", lambda: helpers.state(node)[0] != "up")
        await until("the next helper", lambda: helpers.state(node)[0] == "up")
        assert time.monotonic() - killed < 3
        again = helpers.hello(node)
        assert again is not None
        assert again.pid != hello.pid
        await until("the titles again", lambda: title() == "ray::Rank.pause")
        assert ray_before.items() <= rays_own(cluster).items()
    finally:
        await helpers.close()


def rays_own(cluster: RayCluster) -> dict[int, str]:
    """Pid and name of what the helper's death must not touch: Ray's daemons and the workers that hold an actor.

    Not what comes and goes by itself: the helper's own children, idle workers, commands that Ray's agent runs.
    """
    kept = {}
    for process in cluster.processes():
        with contextlib.suppress(psutil.Error):
            line = " ".join(process.cmdline())
            daemon = any(
                name in line for name in ("gcs_server", "raylet/raylet", "dashboard.py", "/agent.py", "agent/main.py")
            )
            if daemon or (line.startswith("ray::") and not line.startswith("ray::IDLE")):
                kept[process.pid] = line.split(" ", 1)[0]
    return kept


def test_the_helper_does_not_import_ray() -> None:
    heavy = "[m for m in sys.modules if m.split('.')[0] in ('ray', 'aiohttp', 'numpy')]"
    code = f"import sys, raydebug.helper.__main__, raydebug.helper.server; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
