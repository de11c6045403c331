"""Topologies and pauses as the hub would send them."""

from __future__ import annotations

from typing import Any

from raydebug.api.paused import Paused, PausedSite, PausedThread
from raydebug.api.topology import Actor, Driver, GroupView, JobView, Node, SourceState, Topology

NOW = 1_800_000_000_000_000_000
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]x[/] \u202egnp.exe\n:boom: \udcff"
"""Clears the screen, sets the window's title, is markup, reverses what follows, breaks the line, can't be encoded."""


def ago(seconds: float) -> int:
    return NOW - int(seconds * 1e9)


def node(index: int, **changes: Any) -> Node:
    values: dict[str, Any] = {
        "node_id": f"{index}" * 56,
        "ip": f"10.0.0.{index}",
        "hostname": f"host{index}",
        "alive": True,
        "is_head": index == 1,
        "helper": "up",
        "cpus": 8.0,
        "gpus": 4.0,
    }
    return Node(**values | changes)


def actor(name: str, **changes: Any) -> Actor:
    values: dict[str, Any] = {
        "actor_id": f"id-{name}",
        "job_id": "01000000",
        "group_id": None,
        "parent_actor_id": None,
        "name": name,
        "class_name": "Worker",
        "rank": None,
        "role": None,
        "worker_id": f"w-{name}",
        "pid": 4711,
        "node_id": "1" * 56,
        "state": "running",
        "task_name": "update_policy",
        "since_ns": ago(134),
        "restarts": 0,
        "death_cause": None,
    }
    return Actor(**values | changes)


def group(size: int, *, parent: str | None = "id-runner", name: str = "actor_rollout_wg", **rank: Any) -> GroupView:
    """``rank``: ``r3={...}`` changes rank 3."""
    members = []
    for i in range(size):
        place = {"rank": i, "role": "actor", "node_id": str(1 + i % 2) * 56}
        members.append(actor(**{"name": f"{name}_{i}", "group_id": name} | place | rank.get(f"r{i}", {})))
    return GroupView(
        group_id=name,
        job_id="01000000",
        name=name,
        kind="verl",
        parent_actor_id=parent,
        world_size=size,
        roles=["actor", "critic"],
        members=members,
    )


def job(**changes: Any) -> JobView:
    values: dict[str, Any] = {
        "job_id": "01000000",
        "entrypoint": "python -m verl.trainer.main_ppo data.train_files=/data/train.parquet trainer.nnodes=2",
        "state": "running",
        "start_ns": ago(3700),
        "end_ns": None,
        "driver": Driver(worker_id="d", pid=99, node_id="1" * 56, ip="10.0.0.1", state="waiting", since_ns=ago(3600)),
        "groups": [group(8, r3={"state": "paused", "since_ns": ago(3)}, r5={"state": "failed", "death_cause": "OOM"})],
        "actors": [actor("runner", class_name="TaskRunner", task_name="run", role=None, state="waiting")],
    }
    return JobView(**values | changes)


def topology(**changes: Any) -> Topology:
    values: dict[str, Any] = {
        "time_ns": NOW,
        "nodes": [node(1), node(2)],
        "jobs": [job()],
        "sources": [SourceState(name="gcs", ok=True, fresh_ns=NOW, period_ns=1)],
    }
    return Topology(**values | changes)


def thread(index: int, **changes: Any) -> PausedThread:
    values: dict[str, Any] = {
        "worker_id": f"w{index}",
        "thread_id": 100 + index,
        "thread_name": "MainThread",
        "worker_type": "worker",
        "actor_id": f"a{index}",
        "task_id": None,
        "candidate_task_ids": [],
        "task_name": "update_policy",
        "job_id": "01000000",
        "group": "actor_rollout_wg",
        "rank": index,
        "node_id": "2" * 56,
        "pid": 4000 + index,
        "since_ns": ago(134),
        "attached": False,
    }
    return PausedThread(**values | changes)


def site(**changes: Any) -> PausedSite:
    values: dict[str, Any] = {
        "site_id": "3fa9c1d2e3f4a5b6",
        "kind": "breakpoint",
        "file": "/usr/lib/python3.11/site-packages/verl/workers/fsdp_workers.py",
        "line": 212,
        "function": "update_policy",
        "exception": None,
        "since_ns": ago(134),
        "members": [thread(0), thread(1, attached=True)],
    }
    return PausedSite(**values | changes)


def paused(**changes: Any) -> Paused:
    values: dict[str, Any] = {"time_ns": NOW, "sites": [site()]}
    return Paused(**values | changes)
