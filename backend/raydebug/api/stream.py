"""The live websocket ``/debug/ws``: binary msgpack frames, one message each.

The client says :class:`Hello`, then subscribes to topics. A topic is a set of tables; the first :class:`Patch` after a
subscription is ``full``, later ones set and drop rows by key. A client that falls behind gets a full patch, never a
queue. Requests that act come over the socket because Ray's dashboard refuses a browser's POST.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from raydebug.api.access import Grant, GrantMade, GrantRequest, Role
from raydebug.api.debug import DebugSession
from raydebug.api.errors import ErrorBody
from raydebug.api.paused import PausedSite
from raydebug.api.timeline import Lane, Marks, Pause, Step, Tasks, TimelineJob
from raydebug.api.topology import Actor, Group, Job, Node, SourceState

Topic = Literal["topology", "paused", "timeline", "debug"]
"""``topology``: tables nodes, jobs, groups, actors, sources. ``paused``: table paused. ``timeline``: tables
timeline_jobs, lanes, steps, pauses. ``debug``: table sessions."""


# From the client -------------------------------------------------------------------------------------------------


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    protocol: int
    token: str | None = None


class Subscribe(msgspec.Struct, frozen=True, kw_only=True, tag="subscribe"):
    topic: Topic


class Unsubscribe(msgspec.Struct, frozen=True, kw_only=True, tag="unsubscribe"):
    topic: Topic


class Ping(msgspec.Struct, frozen=True, kw_only=True, tag="ping"):
    """``t`` comes back in the Pong; the client measures the round trip."""

    t: float


class MakeGrant(msgspec.Struct, frozen=True, kw_only=True, tag="make_grant"):
    id: int
    grant: GrantRequest


class ListGrants(msgspec.Struct, frozen=True, kw_only=True, tag="list_grants"):
    id: int


class RevokeGrant(msgspec.Struct, frozen=True, kw_only=True, tag="revoke_grant"):
    id: int
    grant_id: str


class QueryTimeline(msgspec.Struct, frozen=True, kw_only=True, tag="query_timeline"):
    """The marks of ``lanes`` of a job between two times (Unix ns), for a view ``pixels`` wide: 1 to 8,192.

    ``since``: the version of an answer for the same window and at least these lanes; lanes that didn't change since are
    left out of the answer. 0: all. At most 2,048 lanes.
    """

    id: int
    job_id: str
    lanes: list[str]
    from_ns: int
    to_ns: int
    pixels: int
    since: int = 0


class QueryTasks(msgspec.Struct, frozen=True, kw_only=True, tag="query_tasks"):
    """Tasks of a job (None: of all that may be seen) for a list, as ``GET tasks``.

    ``task_id`` (hex): this one's attempts. ``parent_task_id``: those that it submitted. ``text``: those whose name,
    error type or lane's label holds it, or whose id begins with it. ``states``: those in one of these marks.
    ``after_ns``, ``before_ns``: those that were submitted, or began, after or before. ``from_ns``, ``to_ns``: those
    that touch this range. ``limit``: at most 1,000 here.
    """

    id: int
    job_id: str | None
    task_id: str | None = None
    parent_task_id: str | None = None
    text: str | None = None
    states: list[str] | None = None
    after_ns: int | None = None
    before_ns: int | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    oldest_first: bool = False
    limit: int = 100


class Debug(msgspec.Struct, frozen=True, kw_only=True, tag="debug"):
    """A command of the debugger for one worker's session: see ``raydebug.api.debug``. Answered when it is done."""

    id: int
    worker_id: str
    command: str
    arguments: dict[str, Any] = {}


ClientMessage = (
    Hello | Subscribe | Unsubscribe | Ping | MakeGrant | ListGrants | RevokeGrant | QueryTimeline | QueryTasks | Debug
)


# From the hub ----------------------------------------------------------------------------------------------------


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="welcome"):
    """``hub_id`` changes when the hub was restarted. ``how``: how the role was known (see Whoami)."""

    protocol: int
    version: str
    ray_version: str
    role: Role
    how: str
    hub_id: str
    session_name: str
    time_ns: int


Row = TypeVar("Row")


class TablePatch(msgspec.Struct, Generic[Row], frozen=True, kw_only=True):
    """``set``: whole rows, each replaces the one with the same key. ``drop``: keys of rows that are gone."""

    set: list[Row]
    drop: list[str]


class Tables(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What changed, by table; a table without change is left out. Each table's key is named beside it."""

    nodes: TablePatch[Node] | None = None  # node_id
    jobs: TablePatch[Job] | None = None  # job_id
    groups: TablePatch[Group] | None = None  # group_id
    actors: TablePatch[Actor] | None = None  # actor_id
    sources: TablePatch[SourceState] | None = None  # name
    paused: TablePatch[PausedSite] | None = None  # site_id
    timeline_jobs: TablePatch[TimelineJob] | None = None  # job_id
    lanes: TablePatch[Lane] | None = None  # lane_id
    steps: TablePatch[Step] | None = None  # step_id
    pauses: TablePatch[Pause] | None = None  # pause_id
    sessions: TablePatch[DebugSession] | None = None  # worker_id


class Patch(msgspec.Struct, frozen=True, kw_only=True, tag="patch"):
    """``full``: ``tables`` is all there is; forget the rows of the topic first. ``time_ns``: the hub's clock."""

    topic: Topic
    version: int
    full: bool
    time_ns: int
    tables: Tables


class Pong(msgspec.Struct, frozen=True, kw_only=True, tag="pong"):
    t: float


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag="reply"):
    """The answer to a request with this ``id``; ``error`` None means done."""

    id: int
    error: ErrorBody | None = None
    grants: list[Grant] | None = None
    made: GrantMade | None = None
    marks: Marks | None = None
    tasks: Tasks | None = None
    debug: Any = None


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """The hub closes the socket after this."""

    error: ErrorBody


HubMessage = Welcome | Patch | Pong | Reply | Refused
