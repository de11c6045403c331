"""Facts as Ray would give them, for tests of the pure model."""

from __future__ import annotations

import itertools
from typing import Any

from raydebug.api.facts import ActorFact, JobFact, NodeFact

_count = itertools.count(1)


def job(job_id: str = "01000000", **changes: Any) -> JobFact:
    fields: dict[str, Any] = {
        "job_id": job_id,
        "entrypoint": "python train.py",
        "ended": False,
        "start_ns": 1,
        "end_ns": None,
        "driver_worker_id": job_id + "ff" * 24,
        "driver_pid": 100,
        "driver_ip": "10.0.0.1",
        "submission_id": None,
        "env": {},
    }
    return JobFact(**{**fields, **changes})


def node(node_id: str = "n1", **changes: Any) -> NodeFact:
    fields: dict[str, Any] = {
        "node_id": node_id,
        "ip": "10.0.0.1",
        "hostname": "head",
        "alive": True,
        "is_head": True,
        "start_ns": 1,
        "end_ns": None,
        "death_cause": None,
        "cpus": 4.0,
        "gpus": None,
        "raylet_port": 1,
        "agent_port": 2,
    }
    return NodeFact(**{**fields, **changes})


def actor(class_name: str = "Worker", **changes: Any) -> ActorFact:
    number = next(_count)
    job_id = changes.get("job_id", "01000000")
    fields: dict[str, Any] = {
        "actor_id": f"a{number:04d}",
        "job_id": job_id,
        "state": "ALIVE",
        "name": None,
        "namespace": "ns",
        "class_name": class_name,
        "repr_name": "",
        "module": "train",
        "function": ("train", "__init__", class_name, "hash"),
        "worker_id": f"w{number:04d}",
        "node_id": "n1",
        "pid": 1000 + number,
        "owner_worker_id": job_id + "ff" * 24,
        "detached": False,
        "placement_group_id": None,
        "restarts": 0,
        "env": {},
        "start_ns": 10 + number,
        "end_ns": None,
        "changed_ns": 10 + number,
        "death_kind": None,
        "death_cause": None,
    }
    return ActorFact(**{**fields, **changes})
