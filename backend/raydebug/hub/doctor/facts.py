"""What the doctor's rules are told. Collectors fill it in, in the hub and in the command line; rules only read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from raydebug.api.topology import HelperState, SourceState

HERE: Final = "here"
"""Where a check of the calling shell and its Python belongs."""
HEAD: Final = "head"

WATCHED_VARIABLES: Final = (
    "RAY_DEBUG",
    "RAY_DEBUG_POST_MORTEM",
    "RAY_DEBUG_POSTMORTEM",
    "RAY_DEBUGGER_HOST",
    "RAYDEBUG_OPEN",
)
"""Collectors keep these variables alone: environments hold secrets, and the report is shown to viewers."""


def watched(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in WATCHED_VARIABLES if name in env}


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What is installed in one Python. None: not installed there; ``raydebug`` and ``protocol`` then are unknown."""

    python: str
    ray: str | None
    debugpy: str | None
    raydebug: str | None
    protocol: int | None


class ClusterVersions(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub's ``GET health`` tells everybody."""

    python: str
    ray: str


class EnvAt(msgspec.Struct, frozen=True, kw_only=True):
    """Variables set at one place.

    ``node``: what Ray was started with there; its workers inherit it. ``runtime_env``: what a job or an actor lays over
    that. ``shell``: where the command line was called; reaches a cluster only that is started from it.
    """

    where: str
    kind: Literal["node", "runtime_env", "shell"]
    env: dict[str, str]


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is alive. ``versions``, ``pyspy`` and ``ptrace`` come from its helper's hello: None without one.

    ``ptrace`` None with ``versions`` set: py-spy works there; else why it doesn't and what to do.
    """

    where: str
    is_head: bool
    helper: HelperState
    helper_note: str | None = None
    versions: Versions | None = None
    pyspy: str | None = None
    ptrace: str | None = None


class ModuleFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Our file among Ray's dashboard modules. ``no_ray``: this Python has no Ray."""

    where: str
    state: Literal["current", "missing", "differs", "no_ray"]
    path: str | None
    detail: str | None = None


class DashboardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Where Ray's dashboard listens. ``host`` None: unknown. ``token_mode`` None: unknown."""

    host: str | None
    port: int
    token_mode: bool | None = None


class DiskFacts(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    free: int
    total: int


class ReachFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What answered when the command line knocked at the dashboard.

    ``dashboard``: ``foreign``: something that isn't Ray's dashboard. ``page``: ``not_found``: Ray's dashboard without
    our module; ``hub_down``: the module without its hub; ``refused``: Ray asked for its token.
    """

    url: str
    dashboard: Literal["up", "down", "foreign"]
    page: Literal["up", "not_found", "hub_down", "refused", "unknown"] = "unknown"
    detail: str | None = None
    hub_version: str | None = None
    hub_protocol: int | None = None
    local: bool = True


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known; what is None or empty is not judged.

    ``versions``: of the Python at ``where``, which nodes are compared with. ``cluster``: the head's, where ``where`` is
    another machine's shell.
    """

    where: str = HEAD
    versions: Versions | None = None
    cluster: ClusterVersions | None = None
    nodes: list[NodeFacts] = []
    sources: list[SourceState] = []
    envs: list[EnvAt] = []
    module: ModuleFacts | None = None
    dashboard: DashboardFacts | None = None
    reach: ReachFacts | None = None
    session_dir: str | None = None
    disk: DiskFacts | None = None
