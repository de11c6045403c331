"""Paused places: where workers and drivers wait at a breakpoint or in post-mortem."""

from __future__ import annotations

from typing import Literal

import msgspec

SiteKind = Literal["breakpoint", "exception", "legacy"]


class PausedThread(msgspec.Struct, frozen=True, kw_only=True):
    """One paused thread of a worker or driver.

    ``thread_id`` is the operating system's, None where the place isn't known. ``task_id`` only where exact;
    ``candidate_task_ids`` else. ``group`` is the WorkerGroup's name. ``since_ns``: when raydebug saw it first, which is
    within a second of the hit where the hub was up. ``attached``: a debugger session of ours holds it;
    ``session_thread_id``: DAP's id of the thread there; ``reason``: DAP's word for why it stopped (breakpoint, step,
    pause, exception, …), None where no session of ours knows.
    """

    worker_id: str
    thread_id: int | None
    thread_name: str | None = None
    worker_type: Literal["worker", "driver"]
    actor_id: str | None
    task_id: str | None
    candidate_task_ids: list[str]
    task_name: str | None
    job_id: str | None
    group: str | None
    group_id: str | None = None
    rank: int | None
    node_id: str
    pid: int
    since_ns: int
    attached: bool
    session_thread_id: int | None = None
    reason: str | None = None


class PausedSite(msgspec.Struct, frozen=True, kw_only=True):
    """A place with the threads that wait there. A row of table ``paused``, keyed by ``site_id``.

    ``site_id`` depends on the place alone and isn't changed by attaching. ``file``, ``line``, ``function`` are None
    with a reason in ``note`` where the place can't be read without attaching (no helper, no ptrace rights).
    ``exception``: its type; ``message``: what one of its members says, None for who may not see error messages.
    ``since_ns``: the oldest of its members.
    """

    site_id: str
    kind: SiteKind
    file: str | None
    line: int | None
    function: str | None
    exception: str | None
    message: str | None = None
    since_ns: int
    members: list[PausedThread]
    note: str | None = None


class Paused(msgspec.Struct, frozen=True, kw_only=True):
    """``GET paused``."""

    time_ns: int
    sites: list[PausedSite]
