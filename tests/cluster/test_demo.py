"""The demo on a real cluster, run as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.support.cluster import RayCluster, wait_for

pytest.importorskip("torch", reason="torch isn't installed: pip install torch==2.13.0")

from ray.util.state import list_actors, list_placement_groups, list_tasks, list_workers

# Limits are for a machine that others load as well; nothing waits longer than it has to.
pytestmark = pytest.mark.timeout(600)

STEP = re.compile(r"step (\d+)  reward (\d\.\d+)  kl (\d+\.\d+)  grad_norm (\d+\.\d+)  seconds (\d+\.\d+)")
ENV = {"RANK", "WORLD_SIZE", "RAY_LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "WG_PREFIX", "WG_BACKEND"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(num_cpus=2) as started:
        yield started


def demo(cluster: RayCluster, *argv: str) -> subprocess.Popen[str]:
    return cluster.run_script("-m", "raydebug.demo", *argv)


def finish(process: subprocess.Popen[str], timeout: float) -> str:
    try:
        return process.communicate(timeout=timeout)[0]
    finally:
        process.kill()


def ranks(cluster: RayCluster) -> list[Any]:
    actors = list_actors(cluster.url, detail=True, limit=1000, raise_on_missing_output=False)
    return [actor for actor in actors if actor.name]


def paused(cluster: RayCluster) -> list[Any]:
    workers = list_workers(cluster.url, detail=True, limit=1000, raise_on_missing_output=False)
    return [worker for worker in workers if worker.is_alive and worker.num_paused_threads]


def updating(cluster: RayCluster) -> list[Any]:
    tasks = list_tasks(cluster.url, detail=True, limit=1000, raise_on_missing_output=False)
    return [t for t in tasks if t.name.endswith("actor_rollout_update_actor") and t.state == "RUNNING"]


def test_three_steps_by_verls_names(cluster: RayCluster) -> None:
    process = demo(cluster, "--steps", "3", "--ranks", "3")
    output = finish(process, 280)
    assert process.returncode == 0, output
    lines = output.splitlines()
    assert f"joining the cluster at {cluster.address}, as RAY_ADDRESS says" in lines[0]
    assert "--address local" in lines[0]
    assert lines[1] == f"open {cluster.url}/debug"
    assert lines[3].startswith(f"  RAYDEBUG_ADDRESS={cluster.url} ")
    assert re.search(r" -m raydebug\.cli url +# ", lines[3]), lines[3]
    assert [int(match[1]) for match in STEP.finditer(output)] == [1, 2, 3], output

    groups: dict[str, list[tuple[str, int]]] = {}
    for actor in ranks(cluster):
        env = json.loads(actor.serialized_runtime_env)["env_vars"]
        assert set(env) == ENV
        assert env["WG_BACKEND"] == "ray"
        assert env["RAY_LOCAL_WORLD_SIZE"] == env["WORLD_SIZE"]
        assert actor.class_name == "create_colocated_worker_cls.<locals>.WorkerDict"
        assert re.fullmatch(r"[A-Za-z0-9]{6}", env["WG_PREFIX"])
        assert actor.name == f"{env['WG_PREFIX']}WorkerDict_0:{env['RANK']}"
        groups.setdefault(env["WG_PREFIX"], []).append((env["WORLD_SIZE"], int(env["RANK"])))
    assert sorted(sorted(members) for members in groups.values()) == [
        [("1", 0)],
        [("1", 0)],
        [("3", 0), ("3", 1), ("3", 2)],
    ]
    names = sorted(group.name[6:] for group in list_placement_groups(cluster.url, raise_on_missing_output=False))
    assert names == ["verl_group_1:0", "verl_group_1:0", "verl_group_3:0"]


def test_an_unreachable_cluster_is_told(cluster: RayCluster) -> None:
    process = demo(cluster, "--address", "127.0.0.1:1", "--steps", "1")
    assert "no Ray cluster at '127.0.0.1:1'" in finish(process, 120)
    assert process.returncode == 3


def test_reward_rises(cluster: RayCluster) -> None:
    process = demo(cluster, "--steps", "60", "--seed", "1")
    output = finish(process, 280)
    assert process.returncode == 0, output
    rewards = [float(match[2]) for match in STEP.finditer(output)]
    assert len(rewards) == 60
    # Measured over seeds 0 to 2: 0.09 to 0.12 in steps 1 to 10, 0.57 to 0.70 in steps 51 to 60.
    first, last = statistics.mean(rewards[:10]), statistics.mean(rewards[-10:])
    assert last > first + 0.3, rewards


@pytest.mark.parametrize("how", ["--breakpoint", "--crash"])
def test_a_rank_stops_where_asked_and_sigterm_ends_all(cluster: RayCluster, how: str) -> None:
    rank = {"--breakpoint": 1, "--crash": 0}[how]
    process = demo(cluster, how, f"1:{rank}")
    try:
        stopped = wait_for("a paused worker", lambda: paused(cluster), timeout=240, period=0.5)
        assert len(stopped) == 1
        alive = [actor for actor in ranks(cluster) if actor.state == "ALIVE"]
        (actor,) = [actor for actor in alive if actor.pid == stopped[0].pid]
        env = json.loads(actor.serialized_runtime_env)["env_vars"]
        assert (env["RANK"], env["WORLD_SIZE"]) == (str(rank), "2")
        assert (env.get("RAY_DEBUG_POST_MORTEM") == "1") == (how == "--crash")
        # The other rank waits in the all-reduce: both are in the update.
        wait_for("both ranks in the update", lambda: len(updating(cluster)) == 2, timeout=120, period=0.5)

        process.send_signal(signal.SIGTERM)
        output = finish(process, 120)
        assert process.returncode == 0, output
        assert "stopped" in output
        assert not STEP.search(output)
        gone = [actor.pid for actor in alive]
        wait_for("the end of all ranks", lambda: not any(map(psutil.pid_exists, gone)), timeout=120, period=0.2)
    finally:
        process.kill()
        process.wait()


@pytest.mark.full  # takes Ray's default ports
def test_a_head_of_its_own_ends_with_the_command() -> None:
    temp_dir = tempfile.mkdtemp(prefix="rd-", dir="/tmp")
    process = subprocess.Popen(
        [sys.executable, "-m", "raydebug.demo", "--address", "local"],
        env={**os.environ, "RAY_TMPDIR": temp_dir},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    below: dict[int, psutil.Process] = {}
    try:
        assert process.stdout
        for line in process.stdout:
            below |= {child.pid: child for child in psutil.Process(process.pid).children(recursive=True)}
            if STEP.match(line):
                break
        assert any("gcs_server" in child.name() for child in below.values())
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        output = finish(process, 120)
        assert process.returncode == 0, output
        assert "stopped" in output
        wait_for("the end of Ray", lambda: not any(child.is_running() for child in below.values()), timeout=60)
    finally:
        process.kill()
        for child in below.values():
            if child.is_running():
                child.kill()
        shutil.rmtree(temp_dir, ignore_errors=True)


@pytest.mark.full  # takes Ray's default ports
def test_a_cluster_that_gives_no_answer_is_left_alone() -> None:
    """One that Ray finds, whose GCS is frozen: as one that is being taken down, but for as long as the test takes."""
    with RayCluster(num_cpus=2) as found:
        temp_dir = tempfile.mkdtemp(prefix="rd-", dir="/tmp")
        os.makedirs(f"{temp_dir}/ray")
        with open(f"{temp_dir}/ray/ray_current_cluster", "w") as file:
            file.write(found.address)
        named = f"--gcs_server_port={found.gcs_port}"
        (gcs,) = [one for one in psutil.process_iter(["cmdline"]) if named in (one.info["cmdline"] or [])[1:]]
        gcs.suspend()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "raydebug.demo", "--steps", "1"],
                env={**os.environ, "RAY_TMPDIR": temp_dir},
                capture_output=True,
                text=True,
                timeout=300,
            )
        finally:
            gcs.resume()
            shutil.rmtree(temp_dir, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"the Ray cluster at {found.address} gives no answer" in done.stdout
    assert "starting a Ray head" in done.stdout
    assert STEP.search(done.stdout)
