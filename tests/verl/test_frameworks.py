"""Jobs of real frameworks, recognised from Ray's facts alone: verl's single_controller and Ray Train."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raydebug.api.paused import PausedSite
from raydebug.api.timeline import Timeline
from raydebug.api.topology import GroupView, JobView
from tests.support import api
from tests.support.cluster import RayCluster, wait_for

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(num_cpus=8) as started:
        yield started


def site_in(cluster: RayCluster, script: Path) -> PausedSite | None:
    return next((site for site in api.paused(cluster.url) if site.file == str(script)), None)


@pytest.mark.timeout(600)
def test_verl_worker_group(cluster: RayCluster) -> None:
    script = HERE / "workload.py"
    driver = cluster.run_script(str(script), "40", "--ranks", "2", "--breakpoint-rank", "1")
    try:
        seen: set[str | None] = set()

        def paused() -> GroupView | None:
            for member in api.group(api.the_job(cluster.url, script.name), "actor+critic").members:
                seen.add(member.role)
            return group if (group := _paused_group(cluster, script)) else None

        group = wait_for("rank 1 at its breakpoint", paused, timeout=400, period=0.02)
        job = api.the_job(cluster.url, script.name)
        runner = api.actor(job, "TaskRunner")
        assert (group.kind, group.world_size, group.roles) == ("verl", 2, ["actor", "critic"])
        assert (group.parent_actor_id, runner.parent_actor_id) == (runner.actor_id, None)
        assert [member.rank for member in group.members] == [0, 1]
        held = group.members[1]
        assert (held.state, held.role, held.task_name) == ("paused", "actor", "update_actor")
        assert {"actor", "critic"} <= seen
        assert (runner.state, runner.task_name) == ("waiting", "run")

        site = wait_for("its place", lambda: site_in(cluster, script))
        (member,) = site.members
        assert (member.group, member.rank, member.worker_id) == ("actor+critic", 1, held.worker_id)
        assert site.function == "Actor.update_actor"
        assert len(job.groups) == 1

        def all_steps() -> Timeline | None:
            found = api.timeline(cluster.url, job.job_id)
            open_pauses = [pause for pause in found.pauses if pause.end_ns is None]
            return found if len(found.steps) == 40 and any(pause.exact for pause in open_pauses) else None

        timeline = wait_for("its 40 steps, and which task is held", all_steps)
        assert [step.number for step in timeline.steps] == list(range(1, 41))
        assert timeline.job.steps == "inferred"
        lanes = {(lane.kind, lane.role, lane.rank) for lane in timeline.lanes if lane.group_id == group.group_id}
        assert {("rank", role, rank) for role in ("actor", "critic") for rank in (0, 1)} <= lanes
        (pause,) = [pause for pause in timeline.pauses if pause.end_ns is None]
        assert (pause.worker_id, pause.exact, pause.line) == (held.worker_id, True, site.line)
        assert pause.lane_ids == [f"rank:{held.actor_id}/actor"]
        # Its exact task, which Ray names nowhere.
        named = wait_for("the task at its place", lambda: site_in(cluster, script)).members[0].candidate_task_ids
        assert named == pause.candidates
    finally:
        driver.kill()
        driver.wait()

    def ended() -> JobView | None:
        job = api.the_job(cluster.url, script.name)
        return job if job.state == "finished" else None

    job = wait_for("the end of the job", ended, timeout=120)
    wait_for("its ranks to be shown as ended", lambda: _states(cluster, script) <= {"dead", "failed"}, timeout=120)
    assert api.actor(job, "TaskRunner")


def _paused_group(cluster: RayCluster, script: Path) -> GroupView | None:
    group = api.group(api.the_job(cluster.url, script.name), "actor+critic")
    return group if any(member.state == "paused" for member in group.members) else None


def _states(cluster: RayCluster, script: Path) -> set[str | None]:
    return {member.state for group in api.the_job(cluster.url, script.name).groups for member in group.members}


@pytest.mark.timeout(600)
def test_ray_train(cluster: RayCluster, tmp_path: Path) -> None:
    script = HERE / "train_job.py"
    driver = cluster.run_script(str(script), str(tmp_path))
    try:
        site = wait_for("worker 1 at its breakpoint", lambda: site_in(cluster, script), timeout=400, period=0.5)
        job = api.the_job(cluster.url, script.name)
        controller = api.actor(job, "TrainController")
        (group,) = (found for found in job.groups if found.kind == "ray_train")
        assert (group.world_size, group.parent_actor_id) == (2, controller.actor_id)
        assert {member.class_name for member in group.members} == {"RayTrainWorker"}
        # The helpers beside them (SynchronizationActor, …) are no ranks.
        assert {"SynchronizationActor", "TrainController"} <= {actor.class_name for actor in job.actors}
        assert (site.line, site.function) == (api.line_of(script, "the place"), "loop")
        (member,) = site.members
        assert member.group == group.name
        assert member.thread_name
        assert member.thread_name.startswith("TrainingThread")
    finally:
        driver.kill()
        driver.wait()
