"""Every task on its lane: what ``GET timeline``, ``GET tasks`` and the live websocket carry.

The topic ``timeline`` has the tables ``timeline_jobs`` (what changed, how fresh, what is lost), ``lanes``, ``steps``
and ``pauses``. The tasks themselves don't lie in a table: a view asks with :class:`stream.QueryTimeline` for lanes x
time x pixels and gets :class:`Marks`: columns of exact slices where a lane has few, of bins where it has many.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from raydebug.api.topology import ActorId, JobId, NodeId, WorkerId

LaneId = str
LaneKind = Literal["driver", "group", "role", "rank", "actor", "node", "worker", "pending"]
TaskSource = Literal["push", "pull"]
MarkMode = Literal["slices", "bins"]
MarkState = Literal["pending", "running", "finished", "failed", "paused"]
MARK_STATES: tuple[MarkState, ...] = ("pending", "running", "finished", "failed", "paused")


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """Task events lost on their way: by Ray (worker buffers, the GCS's store), in the agents' and helpers' bounded
    queues, by the hub (its cap). None where a stage can't say."""

    ray: int | None = None
    agent: int | None = None
    hub: int | None = None


class TimelineJob(msgspec.Struct, frozen=True, kw_only=True):
    """A row of table ``timeline_jobs``: tasks of a job as the hub holds them.

    ``version`` grows with each change of its tasks: ask again then. ``total``, ``running``, ``failed``, ``pending``:
    attempts held. ``first_ns``, ``last_ns``: the range of all times held. ``truncated``: tasks that Ray holds and
    didn't send. ``fresh_ns``: when the newest facts came; ``period_ns``: how often they come, None with push.
    ``note``: why there is no push, or what is missing now. ``steps``: where the steps come from, None: there are none.
    """

    job_id: JobId
    version: int
    total: int
    running: int
    pending: int
    failed: int
    first_ns: int | None
    last_ns: int | None
    source: TaskSource
    fresh_ns: int | None
    period_ns: int | None
    dropped: Dropped
    truncated: int
    note: str | None = None
    steps: Literal["declared", "inferred"] | None = None
    clipped_lanes: int = 0


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A row of table ``lanes``: a line of the timeline, or the sum of the lanes below it.

    Ids: ``driver:JOB``; ``group:GROUP``, below it ``role:GROUP/ROLE`` (where the group has several), below it
    ``rank:ACTOR/ROLE``; in a group of one role ``rank:ACTOR`` below the group; ``actor:ACTOR`` of an actor in no
    group; ``node:JOB/NODE`` of the normal tasks, below it ``worker:JOB/WORKER``; ``pending:JOB`` of normal tasks that
    no node has yet. Tasks of a member that belong to no role (``__init__``) lie on ``rank:ACTOR/`` below
    ``role:GROUP/``. ``order`` sorts siblings. ``tasks``: attempts on it, in all time; ``failed``: those that failed.
    """

    lane_id: LaneId
    job_id: JobId
    kind: LaneKind
    label: str
    parent_lane_id: LaneId | None
    order: int
    tasks: int
    failed: int = 0
    group_id: str | None = None
    role: str | None = None
    rank: int | None = None
    actor_id: ActorId | None = None
    worker_id: WorkerId | None = None
    node_id: NodeId | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A row of table ``steps``. ``number``: as declared by ``raydebug.step(n)``, else ``inferred``: counted from 1, the
    first that this hub saw, on while the oldest calls are let go. It lasts until the next begins; ``end_ns`` None: it
    is the last one."""

    step_id: str
    job_id: JobId
    number: int
    start_ns: int
    end_ns: int | None
    inferred: bool


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A row of table ``pauses``: a worker stood still. ``end_ns`` None: it still does. Times are those at which the
    hub saw it. ``exact``: only one task ran there, so it is that one; else one of ``candidates``."""

    pause_id: str
    job_id: JobId
    worker_id: WorkerId
    lane_ids: list[LaneId]
    site_id: str
    file: str | None
    line: int | None
    start_ns: int
    end_ns: int | None
    exact: bool
    candidates: list[str]


# Columns on the wire --------------------------------------------------------------------------------------------


class LaneMarks(msgspec.Struct, frozen=True, kw_only=True):
    """The marks of a lane: rows ``begin`` to ``end`` of the columns of its ``mode``. ``tasks``: how many attempts touch
    the window. ``depth``: slices on top of each other at most (1 where none overlap)."""

    lane_id: LaneId
    mode: MarkMode
    begin: int
    end: int
    tasks: int
    depth: int = 1


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """Exact attempts, little-endian columns of equal length, sorted by lane, then by start.

    ``submit``, ``start``, ``end``: float64, ns after ``base_ns``, NaN: unknown or not yet. ``name``: uint32, index into
    ``names``. ``state``: uint8, index into MARK_STATES. ``depth``: uint16, 0 for the top row. ``attempt``: uint16.
    ``task_id``: 24 bytes each.
    """

    submit: bytes
    start: bytes
    end: bytes
    name: bytes
    state: bytes
    depth: bytes
    attempt: bytes
    task_id: bytes


class Bins(msgspec.Struct, frozen=True, kw_only=True):
    """Pixels of dense lanes, sparse, sorted by lane, then by ``index``.

    ``index``: uint32, the pixel. ``count``: uint32, attempts that touch it. ``name``: uint32, the name that takes most
    of its time. ``busy``: uint8, 255 x the share of (pixel x sub-lanes) in which a task ran. ``states``: uint8, bit i
    set: an attempt in state MARK_STATES[i] touches it; nothing failed or paused is ever left out.
    """

    index: bytes
    count: bytes
    name: bytes
    busy: bytes
    states: bytes


class Marks(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a query: of the lanes that were asked for, those that changed since ``since``.

    ``version``: to be sent as ``since`` with the next query of the same window. ``names``: the methods' names, without
    their role's prefix.
    """

    job_id: JobId
    version: int
    base_ns: int
    from_ns: int
    to_ns: int
    pixels: int
    lanes: list[LaneMarks]
    names: list[str]
    slices: Slices
    bins: Bins


# GET tasks ------------------------------------------------------------------------------------------------------


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of a task. ``state``: Ray's own name. ``submit_ns``: when it was first known to wait, ``start_ns``:
    when it began to run, ``end_ns``: when it ended, by the worker that ran it; where that hasn't reported (it may have
    died), when the owner learned of it. A worker's report may come before the owner's: then ``end_ns`` is there while
    ``state`` is still RUNNING. ``start_ns`` None while ``end_ns`` isn't: it never ran, or the worker took what it knew
    with it. ``error_message``: None for who may not see error messages."""

    task_id: str
    attempt: int
    name: str | None
    type: str | None
    job_id: JobId
    actor_id: ActorId | None
    worker_id: WorkerId | None
    node_id: NodeId | None
    rank: int | None
    parent_task_id: str | None
    state: str
    submit_ns: int | None
    start_ns: int | None
    end_ns: int | None
    error_type: str | None
    error_message: str | None
    role: str | None = None
    group_id: str | None = None
    pid: int | None = None
    lane_id: LaneId | None = None
    children: int = 0
    """How many attempts held name this task as their parent."""


class Tasks(msgspec.Struct, frozen=True, kw_only=True):
    """``GET tasks``, by submission, the newest first. ``total``: attempts that match; ``tasks`` has ``limit`` of them.
    ``age_ns``: how old the newest facts are; None before the first. ``truncated``: tasks that Ray holds and didn't
    send."""

    time_ns: int
    total: int
    dropped: Dropped
    truncated: int
    source: TaskSource
    age_ns: int | None
    note: str | None
    tasks: list[Task]


# GET timeline ---------------------------------------------------------------------------------------------------


class JsonSlice(msgspec.Struct, frozen=True, kw_only=True):
    task_id: str
    attempt: int
    name: str
    state: MarkState
    submit_ns: int | None
    start_ns: int | None
    end_ns: int | None
    depth: int


class JsonBin(msgspec.Struct, frozen=True, kw_only=True):
    """``busy``: 0 to 1."""

    from_ns: int
    to_ns: int
    count: int
    name: str
    busy: float
    states: list[MarkState]


class JsonLane(msgspec.Struct, frozen=True, kw_only=True):
    """A lane with its marks: ``slices`` or ``bins``, the other is empty."""

    lane_id: LaneId
    kind: LaneKind
    label: str
    parent_lane_id: LaneId | None
    group_id: str | None
    role: str | None
    rank: int | None
    actor_id: ActorId | None
    node_id: NodeId | None
    tasks: int
    mode: MarkMode
    slices: list[JsonSlice]
    bins: list[JsonBin]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """``GET timeline``: the marks of a job's lanes between ``from_ns`` and ``to_ns``."""

    time_ns: int
    job: TimelineJob
    from_ns: int
    to_ns: int
    width: int
    lanes: list[JsonLane]
    steps: list[Step]
    pauses: list[Pause]
