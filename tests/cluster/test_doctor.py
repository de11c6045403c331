"""``raydebug doctor``, ``ps`` and ``paused`` on a real Ray, by the command as a user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from raydebug.api.doctor import Check, DoctorReport
from raydebug.api.paused import Paused
from raydebug.api.topology import Topology
from raydebug.cli.install import place, site_of_interpreter
from tests.support.cluster import RayCluster, wait_for

BACKEND = str(Path(__file__).parents[2] / "backend")

JOB = """
import ray, time

ray.init(runtime_env={"env_vars": {"RAY_DEBUG": "legacy", "RAY_DEBUG_POST_MORTEM": "1"}})

@ray.remote(num_cpus=0.1)
class Trainer:
    def work(self):
        time.sleep(600)

    def stop(self):
        breakpoint()

trainer = Trainer.options(name="busy\\x1b[2J[red]").remote()
done = trainer.work.remote()
other = Trainer.options(name="stopped", runtime_env={"env_vars": {"RAY_DEBUG": "1"}}).remote()
other.stop.remote()
ray.get(done)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    site = site_of_interpreter()
    assert site is not None
    place(site)
    env = {
        "PYTHONPATH": BACKEND,
        "RAY_DEBUGGER_HOST": "0.0.0.0",
        "RAY_DEBUG_POSTMORTEM": "1",
    }
    script = tmp_path_factory.mktemp("job") / "job.py"
    script.write_text(textwrap.dedent(JOB))
    with RayCluster(env=env) as cluster:
        driver = cluster.run_script(str(script))
        try:
            yield cluster
        finally:
            driver.kill()
            driver.communicate()


def call(cluster: RayCluster, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "RAYDEBUG_"))}
    command = [sys.executable, "-m", "raydebug.cli", *arguments, "--address", cluster.url]
    return subprocess.run(command, capture_output=True, env={**env, "PYTHONPATH": BACKEND}, timeout=60)


def document(cluster: RayCluster, command: str) -> bytes:
    done = call(cluster, command, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def examined(cluster: RayCluster) -> tuple[list[Check], int]:
    done = call(cluster, "doctor", "--json")
    return msgspec.json.decode(done.stdout, type=DoctorReport).checks, done.returncode


def test_doctor_finds_what_is_wrong(cluster: RayCluster) -> None:
    def complete() -> list[Check]:
        checks, exit_code = examined(cluster)
        known = {line.check for line in checks if line.where == "head" and line.level == "ok"}
        assert {"helper", "ray_version", "debugpy_version", "python_version"} <= known, checks
        assert any(line.where.startswith("job ") for line in checks), checks
        assert exit_code == 1, checks
        return checks

    checks = wait_for("the whole report", complete, timeout=90, period=1)
    assert any(line.check == "ptrace" and line.where == "head" for line in checks)
    assert [line.check for line in checks if line.level == "error"] == ["legacy_post_mortem"]
    [conflict] = [line for line in checks if line.level == "error"]
    assert conflict.where.startswith("job ")
    warnings = {(line.check, line.where) for line in checks if line.level == "warning"}
    assert {("post_mortem_misspelt", "head"), ("debugger_host", "head")} <= warnings
    assert not [line for line in checks if line.check in ("page", "hub", "module") and line.level != "ok"]
    assert all(line.fix for line in checks if line.level != "ok")

    words = call(cluster, "doctor").stdout.decode()
    assert "RAY_DEBUG_POST_MORTEM" in words
    assert words.splitlines()[-1].count("1 error")


def test_doctor_of_somebody_without_rights(cluster: RayCluster) -> None:
    done = call(cluster, "doctor", "--token", "wrong")
    assert done.returncode == 4
    assert b"raydebug url" in done.stdout
    assert b"Ray's dashboard answers" in done.stdout


def test_ps(cluster: RayCluster) -> None:
    def running() -> Topology:
        found = msgspec.json.decode(document(cluster, "ps"), type=Topology)
        states = {
            member.task_name: member.state
            for job in found.jobs
            for member in [*job.actors, *(m for group in job.groups for m in group.members)]
        }
        assert states == {"work": "running", "stop": "paused"}, states
        return found

    wait_for("both actors", running, timeout=90, period=1)
    tree = call(cluster, "ps").stdout.decode()
    assert "busy\\x1b[2J[red]" in tree
    assert "\x1b" not in tree
    assert "paused  stop" in tree


def test_paused(cluster: RayCluster) -> None:
    def stopped() -> Paused | None:
        found = msgspec.json.decode(document(cluster, "paused"), type=Paused)
        return found if found.sites else None

    [site] = wait_for("the breakpoint", stopped, timeout=90, period=1).sites
    assert len(site.members) == 1
    words = call(cluster, "paused").stdout.decode()
    assert f"site:{site.site_id}" in words
    assert "1 thread paused at 1 place" in words
