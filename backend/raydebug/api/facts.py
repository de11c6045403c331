"""What Ray itself says of a cluster, freed of Ray's own types: made by ``ray_compat``, used by the hub's model."""

from __future__ import annotations

import msgspec


class NodeFact(msgspec.Struct, frozen=True, kw_only=True):
    """``agent_port``: where the node's agent serves HTTP, None while Ray hasn't published it."""

    node_id: str
    ip: str
    hostname: str
    alive: bool
    is_head: bool
    start_ns: int | None
    end_ns: int | None
    death_cause: str | None
    cpus: float | None
    gpus: float | None
    raylet_port: int
    agent_port: int | None


class JobFact(msgspec.Struct, frozen=True, kw_only=True):
    """``env``: the variables that the job's own runtime_env sets."""

    job_id: str
    entrypoint: str
    ended: bool
    start_ns: int | None
    end_ns: int | None
    driver_worker_id: str | None
    driver_pid: int | None
    driver_ip: str | None
    submission_id: str | None
    env: dict[str, str]


class ActorFact(msgspec.Struct, frozen=True, kw_only=True):
    """``state``: Ray's name (DEPENDENCIES_UNREADY, PENDING_CREATION, ALIVE, RESTARTING, DEAD).

    ``owner_worker_id``: the process that created it. ``env``: the variables of its runtime_env. ``function``: what
    names its class in Ray's function table (module, function, class, hash). ``death_kind``: Ray's reason, or the
    name of the error's context; ``changed_ns``: when ``state`` was entered.
    """

    actor_id: str
    job_id: str
    state: str
    name: str | None
    namespace: str
    class_name: str
    repr_name: str
    module: str
    function: tuple[str, str, str, str]
    worker_id: str | None
    node_id: str | None
    pid: int | None
    owner_worker_id: str | None
    detached: bool
    placement_group_id: str | None
    restarts: int
    env: dict[str, str]
    start_ns: int | None
    end_ns: int | None
    changed_ns: int | None
    death_kind: str | None
    death_cause: str | None


class PausedWorkerFact(msgspec.Struct, frozen=True, kw_only=True):
    """A worker or driver with ``threads`` > 0 threads that wait for a debugger."""

    worker_id: str
    pid: int
    node_id: str
    is_driver: bool
    threads: int


class DebuggeeFact(msgspec.Struct, frozen=True, kw_only=True):
    """A worker or driver and where its debugpy listens; ``port`` 0: it doesn't."""

    worker_id: str
    pid: int
    node_id: str
    ip: str
    port: int
    is_driver: bool


class LegacySessionFact(msgspec.Struct, frozen=True, kw_only=True):
    """A pdb session of ``RAY_DEBUG=legacy``, as its process described it."""

    session_id: str
    filename: str
    line: int | None
    exception: str | None
    since_ns: int | None
    proctitle: str
    job_id: str | None
    node_id: str | None
    worker_id: str | None
    actor_id: str | None
    task_id: str | None


class WorkerStat(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker or driver said of itself to its raylet.

    ``running``: method calls or tasks that run in it, of threaded and async actors, too. ``queued``: those that wait
    for their turn. ``calls_out``: those it submitted that have not returned. ``job_id``: whose tasks it runs, None of
    an idle one. ``at_ns``: when it was asked.
    """

    worker_id: str
    pid: int
    job_id: str | None
    running: int
    queued: int
    calls_out: int
    at_ns: int
    node_id: str = ""


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the GCS."""

    nodes: list[NodeFact]
    jobs: list[JobFact]
    actors: list[ActorFact]
