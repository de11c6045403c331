"""The tables that follow from a cluster's facts."""

from __future__ import annotations

from typing import Any

from raydebug.api.facts import ActorFact, ClusterFacts, JobFact, PausedWorkerFact, WorkerStat
from raydebug.api.helper import Title
from raydebug.hub.model.cluster import MAX_DEAD_ACTORS, MAX_ENDED_JOBS, Cluster, PausedPlaces
from raydebug.hub.model.sites import Place
from raydebug.hub.model.store import Store, diff
from tests.unit.hub import facts


def cluster_of(actors: list[ActorFact], jobs: list[JobFact] | None = None) -> Cluster:
    cluster = Cluster(Store())
    cluster.set_facts(ClusterFacts(nodes=[facts.node()], jobs=jobs or [facts.job()], actors=actors))
    cluster.refresh()
    return cluster


def row(cluster: Cluster, actor: ActorFact) -> Any:
    return cluster.store.table("actors")[actor.actor_id]


def test_parents_by_creator() -> None:
    runner = facts.actor("TaskRunner")
    worker = facts.actor("Worker", owner_worker_id=runner.worker_id)
    by_task = facts.actor("Other", owner_worker_id="a worker that runs a normal task")
    cluster = cluster_of([runner, worker, by_task])
    assert row(cluster, runner).parent_actor_id is None
    assert not row(cluster, runner).parent_task
    assert row(cluster, worker).parent_actor_id == runner.actor_id
    assert row(cluster, by_task).parent_actor_id is None
    assert row(cluster, by_task).parent_task


def test_a_parent_is_remembered_after_its_worker_is_forgotten() -> None:
    runner = facts.actor("TaskRunner")
    worker = facts.actor("Worker", owner_worker_id=runner.worker_id, detached=True)
    cluster = cluster_of([runner, worker])
    gone = facts.actor("TaskRunner", actor_id=runner.actor_id, state="DEAD", worker_id=None)
    cluster.set_facts(ClusterFacts(nodes=[], jobs=[facts.job()], actors=[gone, worker]))
    cluster.refresh()
    assert row(cluster, worker).parent_actor_id == runner.actor_id


def test_role_and_method_of_a_colocated_worker() -> None:
    env = {"WG_PREFIX": "aB3dEf", "RANK": "1", "WORLD_SIZE": "2"}
    worker = facts.actor("WorkerDict", env=env)
    cluster = cluster_of([worker])
    assert [actor.actor_id for actor in cluster.methods_wanted()] == [worker.actor_id]
    cluster.set_methods(worker.function, ["actor_execute_with_func_generator", "critic_execute_with_func_generator"])
    assert cluster.methods_wanted() == []

    def show(text: str) -> Any:
        pid = worker.pid or 0
        cluster.set_titles({("n1", pid): Title(pid=pid, title=text, since_ns=5)})
        cluster.refresh()
        return row(cluster, worker)

    busy = show("ray::WorkerDict.actor_update_actor")
    assert (busy.rank, busy.role, busy.task_name, busy.state) == (1, "actor", "update_actor", "running")
    idle = show("ray::WorkerDict")
    assert (idle.role, idle.task_name, idle.state) == ("actor", None, "idle")  # the role it played last


def test_a_train_worker_without_a_method_isnt_called_idle() -> None:
    module = "ray.train.v2._internal.execution.worker_group.worker"
    worker = facts.actor("RayTrainWorker", module=module, placement_group_id="p")
    cluster = cluster_of([worker])
    pid = worker.pid or 0
    cluster.set_titles({("n1", pid): Title(pid=pid, title="ray::RayTrainWorker", since_ns=5)})
    cluster.refresh()
    assert row(cluster, worker).state is None


def test_paused_worker_and_driver() -> None:
    worker = facts.actor("Worker")
    cluster = cluster_of([worker])
    driver_id = facts.job().driver_worker_id or ""
    here = Place(kind="breakpoint", file="/job/a.py", line=3, function="f", thread_id=11)
    paused = {
        worker_id: PausedPlaces(
            worker=PausedWorkerFact(worker_id=worker_id, pid=pid, node_id="n1", is_driver=is_driver, threads=1),
            places=[here],
            since_ns=50,
        )
        for worker_id, pid, is_driver in ((driver_id, 8, True), (worker.worker_id or "", 9, False))
    }
    cluster.set_paused(paused)
    cluster.refresh()
    sites: Any = list(cluster.store.table("paused").values())
    assert [(m.worker_type, m.job_id, m.actor_id) for site in sites for m in site.members] == [
        ("driver", "01000000", None),
        ("worker", "01000000", worker.actor_id),
    ]
    assert row(cluster, worker).state == "paused"
    job: Any = cluster.store.table("jobs")["01000000"]
    assert job.driver.state == "paused"


def test_a_place_on_a_lost_node_is_gone() -> None:
    """The GCS keeps the workers of a lost node as alive and paused."""
    worker = facts.actor("Worker", state="DEAD", death_kind="NODE_DIED")
    cluster = cluster_of([worker])
    fact = PausedWorkerFact(worker_id=worker.worker_id or "", pid=9, node_id="n1", is_driver=False, threads=1)
    place = Place(kind="breakpoint", file="/job/a.py", line=3, function="f")
    cluster.set_paused({fact.worker_id: PausedPlaces(worker=fact, places=[place], since_ns=50)})
    lost = facts.node(alive=False, end_ns=60)
    cluster.set_facts(ClusterFacts(nodes=[lost], jobs=[facts.job()], actors=[worker]))
    cluster.refresh()
    assert not cluster.store.table("paused")
    assert row(cluster, worker).state == "failed"


def test_old_ended_jobs_and_dead_actors_are_left_out_and_counted() -> None:
    jobs = [facts.job(f"{n:02x}000000", ended=True, start_ns=n) for n in range(1, MAX_ENDED_JOBS + 4)]
    live = facts.job("ff000000", start_ns=0)
    dead = [
        facts.actor(f"C{n}", job_id="ff000000", state="DEAD", end_ns=n, death_kind="RAY_KILL")
        for n in range(MAX_DEAD_ACTORS + 7)
    ]
    old = facts.actor("Old", job_id="01000000")
    cluster = cluster_of([*dead, old], [*jobs, live])
    shown = cluster.store.table("jobs")
    assert "ff000000" in shown
    assert len(shown) == MAX_ENDED_JOBS + 1
    assert "01000000" not in shown
    assert old.actor_id not in cluster.store.table("actors")
    kept: Any = shown["ff000000"]
    assert kept.clipped_actors == 7


def test_the_job_of_a_process() -> None:
    nodes = [facts.node("n1", ip="10.0.0.1"), facts.node("n2", ip="10.0.0.2", is_head=False)]
    jobs = [
        facts.job("01000000", ended=True, driver_pid=70),
        facts.job("02000000", driver_pid=70),
        facts.job("03000000", driver_pid=71, driver_ip="10.0.0.2"),
    ]
    actors = [
        facts.actor(pid=80, node_id="n1", job_id="01000000", state="DEAD"),
        facts.actor(pid=80, node_id="n1", job_id="02000000"),
        facts.actor(pid=80, node_id="n2", job_id="03000000"),
        facts.actor(pid=81, node_id="n1", job_id="01000000", state="DEAD"),
    ]
    cluster = Cluster(Store())
    cluster.set_facts(ClusterFacts(nodes=nodes, jobs=jobs, actors=actors))
    stat = WorkerStat(worker_id="w", pid=90, job_id="03000000", running=1, queued=0, calls_out=0, at_ns=1, node_id="n2")
    cluster.set_stats([stat])
    known = {
        ("n1", 80): "02000000",
        ("n2", 80): "03000000",
        ("n1", 81): "01000000",
        ("n1", 70): "02000000",
        ("n2", 70): None,
        ("n2", 71): "03000000",
        ("n2", 90): "03000000",
        ("n1", 90): None,
        ("n1", 0): None,
    }
    assert {key: cluster.job_of_process(*key) for key in known} == known


def test_nothing_changed_means_no_new_version() -> None:
    cluster = cluster_of([facts.actor()])
    before = cluster.store.version("topology")
    cluster.refresh()
    assert cluster.store.version("topology") == before


def test_diff_names_only_what_changed() -> None:
    one, two = facts.actor("A"), facts.actor("B")
    cluster = cluster_of([one, two])
    before = cluster.store.topic_tables("topology")
    cluster.set_facts(ClusterFacts(nodes=[facts.node()], jobs=[facts.job()], actors=[two]))
    cluster.refresh()
    tables = diff(before, cluster.store.topic_tables("topology"))
    assert tables.actors is not None
    assert tables.actors.set == []
    assert tables.actors.drop == [one.actor_id]
    assert tables.nodes is None
