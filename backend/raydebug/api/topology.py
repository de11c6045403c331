"""The cluster as it is built: nodes, jobs, WorkerGroups, actors.

On the live stream these are rows of tables (``nodes``, ``jobs``, ``groups``, ``actors``), each patched by key; ``GET
topology`` nests the same rows (:class:`Topology`).
"""

from __future__ import annotations

from typing import Literal

import msgspec

NodeId = str
JobId = str
ActorId = str
WorkerId = str

HelperState = Literal["up", "connecting", "missing", "refused"]
GroupKind = Literal["verl", "ray_train", "actors"]
JobState = Literal["running", "finished"]
ActorState = Literal["running", "idle", "waiting", "paused", "failed", "dead", "pending"]
"""What an actor does now.

``pending``: not placed or not constructed yet (also while it restarts). ``running``: a method is running. ``waiting``:
its one running method has calls out that have not returned. ``idle``: alive, no method runs. ``paused``: a thread of
its process stands at a breakpoint or in post-mortem. ``failed``: it died of an error. ``dead``: it ended in an orderly
way (out of scope, killed, job ended).
"""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the cluster. ``helper_note`` says why the helper isn't up, and what to do."""

    node_id: NodeId
    ip: str
    hostname: str
    alive: bool
    is_head: bool
    helper: HelperState
    helper_note: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    death_cause: str | None = None
    cpus: float | None = None
    gpus: float | None = None


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """The process that called ``ray.init``. ``state`` is ``dead`` after its job ended; None when nothing can say."""

    worker_id: WorkerId | None
    pid: int | None
    node_id: NodeId | None
    ip: str | None
    state: ActorState | None
    task_name: str | None = None
    since_ns: int | None = None


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """An actor; a member of a WorkerGroup where ``group_id`` is set.

    ``parent_actor_id`` None: the driver (or a normal task, then ``parent_task`` is True) created it. ``role``: what a
    colocated worker plays now or played last, from its method's prefix. ``task_name``: the method that runs now,
    without its role's prefix; None where nothing can say (threaded and async actors without a helper).
    ``since_ns``: since when it is in ``state``; of a running or waiting one, since when the method runs; None if
    unknown. ``methods_running``: how many run, None if unknown. ``armed``: None until the worker's client library is
    known. ``state`` None: alive, and nothing can say what it does. ``death_kind``: Ray's name for how it ended;
    ``death_cause``: the message, None for who may not see error messages.
    """

    actor_id: ActorId
    job_id: JobId
    group_id: str | None
    parent_actor_id: ActorId | None
    name: str | None
    class_name: str
    rank: int | None
    role: str | None
    worker_id: WorkerId | None
    pid: int | None
    node_id: NodeId | None
    state: ActorState | None
    task_name: str | None
    since_ns: int | None
    restarts: int
    death_cause: str | None
    death_kind: str | None = None
    armed: bool | None = None
    detached: bool = False
    namespace: str = ""
    parent_task: bool = False
    methods_running: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A WorkerGroup: actors that act as the ranks of one world.

    ``group_id`` is stable while its members live; ``world_size`` is what the job declares (verl) else the number of
    members. ``roles`` are the colocated roles known so far; empty when the workers have one role without a prefix.
    """

    group_id: str
    job_id: JobId
    name: str
    kind: GroupKind
    parent_actor_id: ActorId | None
    world_size: int | None
    roles: list[str]
    clipped: int = 0
    """How many dead members, the oldest, are left out."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    job_id: JobId
    entrypoint: str
    state: JobState
    start_ns: int | None
    end_ns: int | None
    driver: Driver
    submission_id: str | None = None
    clipped_actors: int = 0
    """How many dead actors in no group, the oldest, are left out."""


class GroupView(Group, frozen=True, kw_only=True):
    """A group with its members, by rank (unknown ranks last)."""

    members: list[Actor]


class JobView(Job, frozen=True, kw_only=True):
    """A job with what belongs to it; ``actors`` are those in no group."""

    groups: list[GroupView]
    actors: list[Actor]


class SourceState(msgspec.Struct, frozen=True, kw_only=True):
    """How fresh a source of facts is. ``note`` says what is missing, why, and what mends it.

    A row of table ``sources``; names so far: ``gcs``, ``paused``, ``node stats``.
    """

    name: str
    ok: bool
    fresh_ns: int | None
    """When the newest facts came, told every 2 s; None before the first."""
    period_ns: int | None
    note: str | None = None


class Topology(msgspec.Struct, frozen=True, kw_only=True):
    """``GET topology``. ``time_ns``: when the hub made this answer."""

    time_ns: int
    nodes: list[Node]
    jobs: list[JobView]
    sources: list[SourceState]
