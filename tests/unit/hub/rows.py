"""Rows to fill a store with."""

from __future__ import annotations

from raydebug.api.paused import PausedSite, PausedThread
from raydebug.api.topology import Actor, Driver, Group, Job, Node, SourceState

JOBS = ("01000000", "02000000")


def node(number: int = 0) -> Node:
    return Node(
        node_id=f"node{number}", ip=f"10.0.0.{number}", hostname="n", alive=True, is_head=not number, helper="up"
    )


def job(job_id: str = JOBS[0], entrypoint: str = "python train.py") -> Job:
    driver = Driver(worker_id=None, pid=1, node_id="node0", ip=None, state=None)
    return Job(job_id=job_id, entrypoint=entrypoint, state="running", start_ns=1, end_ns=None, driver=driver)


def group(group_id: str = "g1", job_id: str = JOBS[0]) -> Group:
    return Group(
        group_id=group_id, job_id=job_id, name="actor", kind="verl", parent_actor_id=None, world_size=2, roles=[]
    )


def actor(
    actor_id: str, job_id: str = JOBS[0], group_id: str | None = None, rank: int | None = None, task: str | None = None
) -> Actor:
    return Actor(
        actor_id=actor_id,
        job_id=job_id,
        group_id=group_id,
        parent_actor_id=None,
        name=None,
        class_name="Worker",
        rank=rank,
        role=None,
        worker_id=f"w{actor_id}",
        pid=1,
        node_id="node0",
        state="running" if task else "idle",
        task_name=task,
        since_ns=1,
        restarts=0,
        death_cause="it said a secret",
    )


def thread(worker_id: str, job_id: str | None = JOBS[0], since_ns: int = 5) -> PausedThread:
    return PausedThread(
        worker_id=worker_id,
        thread_id=1,
        worker_type="worker",
        actor_id=None,
        task_id=None,
        candidate_task_ids=[],
        task_name=None,
        job_id=job_id,
        group=None,
        rank=None,
        node_id="node0",
        pid=1,
        since_ns=since_ns,
        attached=False,
    )


def site(site_id: str, *members: PausedThread) -> PausedSite:
    return PausedSite(
        site_id=site_id,
        kind="breakpoint",
        file="train.py",
        line=1,
        function="f",
        exception="ValueError",
        message="it said a secret",
        since_ns=min(member.since_ns for member in members),
        members=list(members),
    )


def source(name: str = "gcs", ok: bool = True) -> SourceState:
    return SourceState(name=name, ok=ok, fresh_ns=0, period_ns=1)
