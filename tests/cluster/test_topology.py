"""The topology and the paused places of real clusters, through the dashboard's own port."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from raydebug.api.paused import Paused, PausedSite
from raydebug.api.topology import Actor, JobView
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in
from tests.support.rays import RAYS

JOBS = Path(__file__).parent / "jobs"


@pytest.fixture(scope="module", params=RAYS)
def cluster(request: pytest.FixtureRequest) -> Iterator[RayCluster]:
    plugin_in(request.param)
    with RayCluster(python=request.param) as started:
        yield started


@pytest.fixture
def run() -> Iterator[list[subprocess.Popen[str]]]:
    """Drivers that are ended with the test."""
    drivers: list[subprocess.Popen[str]] = []
    yield drivers
    for driver in drivers:
        driver.kill()
        driver.wait()


def start(cluster: RayCluster, run: list[subprocess.Popen[str]], script: str) -> Path:
    run.append(cluster.run_script(str(JOBS / script)))
    return JOBS / script


def sites_of(cluster: RayCluster, script: Path) -> list[PausedSite]:
    return [site for site in api.paused(cluster.url) if site.file == str(script)]


def test_who_made_whom_and_what_each_does(cluster: RayCluster, run: list[subprocess.Popen[str]]) -> None:
    script = start(cluster, run, "family.py")

    def settled() -> JobView | None:
        job = api.the_job(cluster.url, "family.py")
        states = {member.name: member.state for member in api.group(job, "Worker").members}
        known = {job.driver.state, api.actor(job, "runner").state, api.actor(job, "Threaded").methods_running}
        return job if states.get("worker-1") == "paused" and {"waiting", 3} <= known else None

    job = wait_for("rank 1 at its breakpoint", settled, timeout=120)
    runner = api.actor(job, "runner")
    workers = api.group(job, "Worker")
    assert (job.state, job.driver.state, job.driver.pid) == ("running", "waiting", run[0].pid)
    assert (runner.parent_actor_id, runner.parent_task) == (None, False)
    assert (runner.state, runner.task_name) == ("waiting", "run")
    assert (workers.kind, workers.parent_actor_id, workers.world_size) == ("actors", runner.actor_id, 2)
    states: dict[str | None, Actor] = {member.name: member for member in workers.members}
    assert states["worker-1"].task_name == "step"
    assert states["worker-0"].state == "idle"  # it waits for its next call
    threaded, asynchronous = api.actor(job, "Threaded"), api.actor(job, "Async")
    assert (threaded.state, threaded.task_name, threaded.methods_running) == ("running", "work", 3)
    assert (asynchronous.state, asynchronous.methods_running) == ("running", 1)
    kept = api.actor(job, "from a task")
    assert (kept.parent_actor_id, kept.parent_task, kept.detached) == (None, True, True)

    (site,) = wait_for("the place", lambda: sites_of(cluster, script))
    assert (site.kind, site.line, site.function) == ("breakpoint", api.line_of(script, "the place"), "Worker.step")
    (member,) = site.members
    assert (member.actor_id, member.pid) == (states["worker-1"].actor_id, states["worker-1"].pid)
    assert (member.group, member.task_name, member.worker_type, member.attached) == ("Worker", "step", "worker", False)


def test_restarts_deaths_and_the_end_of_a_job(cluster: RayCluster, run: list[subprocess.Popen[str]]) -> None:
    driver = subprocess.Popen(
        [cluster.python, str(JOBS / "endings.py")],
        env={**cluster.env, "RAY_ADDRESS": cluster.address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    run.append(driver)
    assert driver.stdin
    assert driver.stdout
    while "all there" not in (line := driver.stdout.readline()):
        assert line, "the driver ended early"

    def states() -> dict[str, Actor]:
        job = api.the_job(cluster.url, "endings.py", cluster.debugger)
        return {str(a.name): a for a in [*job.actors, *(m for g in job.groups for m in g.members)]}

    def settled() -> dict[str, Actor] | None:
        now = states()
        done = {"crashed", "killed", "left", "unborn"}
        return now if {now[name].state for name in done} <= {"dead", "failed"} and now["kept"].state == "idle" else None

    now = wait_for("the deaths", settled, timeout=60)
    assert {name: now[name].state for name in ("crashed", "killed", "left", "unborn", "pending", "kept")} == {
        "crashed": "failed",
        "killed": "dead",
        "left": "dead",
        "unborn": "failed",
        "pending": "pending",
        "kept": "idle",
    }
    assert now["restarting"].restarts == 1
    assert now["restarting"].state == "idle"
    assert "can't be built" in (now["unborn"].death_cause or "")
    assert now["crashed"].death_cause

    driver.stdin.write("\n")
    driver.stdin.close()
    assert driver.wait(60) == 0

    def ended() -> JobView | None:
        job = api.the_job(cluster.url, "endings.py")
        return job if job.state == "finished" and api.actor(job, "restarting").state == "dead" else None

    job = wait_for("the end of the job", ended, timeout=60)
    assert job.driver.state == "dead"
    assert job.end_ns
    kept = api.actor(job, "kept")  # detached: it outlives its job
    assert (kept.state, kept.detached) == ("idle", True)


def test_every_kind_of_stop_is_placed(cluster: RayCluster, run: list[subprocess.Popen[str]]) -> None:
    script = start(cluster, run, "stops.py")
    marks = ("first", "second", "async", "task", "driver")
    wanted = {api.line_of(script, mark): mark for mark in marks}

    def found() -> dict[str, PausedSite] | None:
        sites = {wanted[site.line]: site for site in sites_of(cluster, script) if site.line in wanted}
        # Whose job a normal task's worker works for comes from its raylet, some time later.
        known = all(member.job_id for site in sites.values() for member in site.members)
        return sites if len(sites) == len(wanted) and known else None

    sites = wait_for("five places", found, timeout=90)
    first, second = sites["first"].members[0], sites["second"].members[0]
    assert first.worker_id == second.worker_id
    assert first.thread_id != second.thread_id
    assert sites["driver"].members[0].worker_type == "driver"
    assert sites["driver"].members[0].pid == run[0].pid
    assert sites["driver"].function == "<module>"
    assert sites["task"].members[0].task_name == "task"
    assert sites["task"].members[0].actor_id is None
    job = api.the_job(cluster.url, "stops.py")
    assert {site.members[0].job_id for site in sites.values()} == {job.job_id}
    assert job.driver.state == "paused"

    run[0].kill()
    wait_for("the places to go", lambda: not sites_of(cluster, script), timeout=60)


def test_frozen_exceptions_are_placed_and_the_terminal_shows_the_same(
    cluster: RayCluster, run: list[subprocess.Popen[str]]
) -> None:
    script = start(cluster, run, "crash.py")

    def both() -> dict[int | None, PausedSite] | None:
        sites = {site.line: site for site in sites_of(cluster, script)}
        return sites if len(sites) == 2 else None

    sites = wait_for("two crashes", both, timeout=90)
    actor, task = (sites[api.line_of(script, mark)] for mark in ("actor", "task"))
    assert (actor.kind, actor.exception, actor.function) == ("exception", "ValueError", "Actor.deeper")
    assert (task.kind, task.exception, task.function) == ("exception", "ZeroDivisionError", "task")
    assert (actor.message, task.message) == (None, None)  # anonymous
    token = cluster.debugger
    seen = {site.line: site.message for site in api.get(f"{cluster.url}/debug/api/v1/paused", Paused, token).sites}
    assert (seen[actor.line], seen[task.line]) == ("bad value 7", "division by zero")
    for command, kind, part, key in (("ps", "topology", "jobs", "job_id"), ("paused", "paused", "sites", "site_id")):
        page = api.get(f"{cluster.url}/debug/api/v1/{kind}", dict)
        for address in (cluster.url, cluster.address):  # by the dashboard, and by the GCS
            shown = subprocess.run(
                [cluster.python, "-m", "raydebug.cli", command, "--json", "--address", address],
                capture_output=True,
                env=cluster.env,
                check=True,
            )
            said = msgspec.json.decode(shown.stdout)
            assert {row[key] for row in said[part]} == {row[key] for row in page[part]}
            assert said[part]


@pytest.mark.parametrize("python", RAYS)
def test_a_cluster_of_three_nodes(python: str, run: list[subprocess.Popen[str]]) -> None:
    plugin_in(python)
    with RayCluster(num_cpus=2, python=python) as cluster:
        nodes = [cluster.add_node(), cluster.add_node()]

        def all_up() -> bool:
            found = api.topology(cluster.url).nodes
            return len(found) == 3 and all(node.helper == "up" for node in found)

        wait_for("three helpers", all_up, timeout=120)
        script = start(cluster, run, "spread.py")

        def everywhere() -> PausedSite | None:
            return next((site for site in sites_of(cluster, script) if len(site.members) == 3), None)

        site = wait_for("the place on three nodes", everywhere, timeout=120)
        assert len({member.node_id for member in site.members}) == 3
        nodes[1].kill()
        wait_for(
            "the node to be lost", lambda: sum(node.alive for node in api.topology(cluster.url).nodes) == 2, timeout=120
        )
        lost = next(node for node in api.topology(cluster.url).nodes if not node.alive)
        member = next(one for one in site.members if one.node_id == lost.node_id)

        def failed() -> bool:
            job = api.the_job(cluster.url, "spread.py")
            actors = {one.actor_id: one.state for one in api.group(job, "Worker").members}
            return actors[str(member.actor_id)] == "failed"

        wait_for("its actor to be shown as failed", failed, timeout=120)
        wait_for("its place to go", lambda: all(len(s.members) == 2 for s in sites_of(cluster, script)), timeout=60)
