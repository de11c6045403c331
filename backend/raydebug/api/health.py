"""Whether and where the hub is up."""

from __future__ import annotations

from typing import Literal

import msgspec


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """``GET health``: open to everybody, says nothing about the job."""

    status: Literal["ok", "degraded"]
    version: str
    protocol: int
    ray_version: str
    python_version: str
    pid: int
    start_ns: int
    auth: Literal["off", "ray_token", "open"]
    """``off``: Ray's token mode is off, raydebug's token is needed to act. ``open``: RAYDEBUG_OPEN=1."""


class Whoami(msgspec.Struct, frozen=True, kw_only=True):
    """``GET whoami``: the caller's role and how it was known."""

    role: Literal["anonymous", "viewer", "debugger"]
    how: Literal["none", "ray_token", "token", "grant", "open"]
    name: str | None = None


class HubEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Published in the GCS KV so that the CLI and workers find the hub. ``url``: where ``/debug`` is served."""

    url: str | None
    socket: str
    protocol: int
    version: str
    pid: int
    node_id: str | None
    start_ns: int
