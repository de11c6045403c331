"""Whom a session is attached to."""

from __future__ import annotations

from typing import Literal

import msgspec


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A worker or driver and where its debugpy listens. ``port`` 0: it doesn't."""

    worker_id: str
    worker_type: Literal["worker", "driver"]
    node_id: str
    host: str
    port: int
    pid: int
    job_id: str | None = None
    actor_id: str | None = None
    group: str | None = None
    rank: int | None = None
