"""Steps of real jobs: as they declare them, as the demo's calls repeat, and none where nothing does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from raydebug.api.timeline import Timeline
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in

JOBS = Path(__file__).parent / "jobs"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    plugin_in()
    with RayCluster(num_cpus=2) as started:
        yield started


def timeline_of(cluster: RayCluster, script: str) -> Timeline:
    return api.timeline(cluster.url, api.the_job(cluster.url, script).job_id)


def test_declared_steps(cluster: RayCluster) -> None:
    driver = subprocess.Popen(
        [sys.executable, str(JOBS / "declares.py"), "411", "418"],
        env={**cluster.env, "RAY_ADDRESS": cluster.address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert driver.stdout
        said: list[tuple[int, int]] = []
        while not (line := driver.stdout.readline()).startswith("DONE"):
            assert line, "the job ended before its time"
            number, at_ns = line.split()
            said.append((int(number), int(at_ns)))

        def all_there() -> Timeline | None:
            found = timeline_of(cluster, "declares.py")
            return found if len(found.steps) == len(said) else None

        steps = wait_for("the steps", all_there).steps
        assert [step.number for step in steps] == [number for number, _ in said]
        assert not any(step.inferred for step in steps)
        following = [*[at for _, at in said[1:]], None]
        for step, (_, at), end in zip(steps, said, following, strict=True):
            # Its first rank says so after the driver has written it down and before the next step begins.
            assert at <= step.start_ns
            assert end is None or step.start_ns <= end
        assert [step.end_ns for step in steps] == [*[step.start_ns for step in steps[1:]], None]
    finally:
        driver.kill()
        driver.wait()


def test_a_job_that_repeats_one_call_has_none(cluster: RayCluster) -> None:
    driver = cluster.run_script(str(JOBS / "family.py"))
    try:
        found = wait_for(
            "its calls",
            lambda: t if (t := timeline_of(cluster, "family.py")).job.total > 10 else None,
            timeout=120,
        )
        assert found.steps == []
        assert found.job.steps is None
    finally:
        driver.kill()
        driver.wait()


@pytest.mark.parametrize("declared", [False, True], ids=["inferred", "declared"])
def test_the_demo_has_a_step_for_each_of_its_own(cluster: RayCluster, declared: bool) -> None:
    pytest.importorskip("torch", reason="torch isn't installed: pip install torch==2.13.0")
    more = ["--declare-steps"] if declared else []
    argv = ["-m", "raydebug.demo", "--steps", "9", "--ranks", "2", "--address", cluster.address, *more]
    driver = cluster.run_script(*argv)
    try:

        def nine() -> Timeline | None:
            found = timeline_of(cluster, "--declare-steps" if declared else "raydebug.demo")
            return found if len(found.steps) >= 9 else None

        found = wait_for("nine steps", nine, timeout=300, period=0.2)
        assert [step.number for step in found.steps] == list(range(1, 10))
        assert {step.inferred for step in found.steps} == {not declared}
        assert found.job.steps == ("declared" if declared else "inferred")
    finally:
        driver.kill()
        driver.wait()
