"""What a worker does now, from its process title and from what it tells its raylet. Never from the task store."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from raydebug.api.facts import ActorFact, WorkerStat
from raydebug.api.helper import Title
from raydebug.api.topology import ActorState, Driver

_STALE_AFTER_NS: Final = 300_000_000
"""Titles are sampled: a stat this much younger than the title's change speaks of the time after it."""

_FAILURES: Final = frozenset(
    {"WORKER_DIED", "NODE_DIED", "CREATION_FAILED", "RUNTIME_ENV_FAILED", "ACTOR_UNSCHEDULABLE", "OOM", "UNSPECIFIED"}
)
_INTENDED_EXIT: Final = ("exit_actor", "intended", "INTENDED")


class Doing(NamedTuple):
    """``method``: as Ray names it, with a colocated role's prefix. ``running``: how many methods run."""

    state: ActorState | None
    method: str | None
    since_ns: int | None
    running: int | None


def short_class(class_name: str) -> str:
    """``create_colocated_worker_cls.<locals>.WorkerDict`` -> ``WorkerDict``."""
    return class_name.rsplit(".", 1)[-1]


def method_in_title(title: str, names: tuple[str, ...]) -> str | None:
    """The method that a process title names; "" when it says that none runs, None when it says nothing of Ray.

    ``names``: how the actor may call itself (its class, its ``repr``). A call with ``.options(name=…)`` shows that one.
    """
    if not title.startswith("ray::"):
        return None
    rest = title.removeprefix("ray::")
    for name in names:
        if rest == name:
            return ""
        if rest.startswith(f"{name}."):
            return rest[len(name) + 1 :]
    return rest


def actor_doing(
    fact: ActorFact, title: Title | None, stat: WorkerStat | None, paused_since_ns: int | None = None
) -> Doing:
    """What an actor does now. ``paused_since_ns``: since when a thread of its process is paused, None if none is."""
    if fact.state == "DEAD":
        return Doing(_end_state(fact), None, fact.end_ns or fact.changed_ns, None)
    if fact.state != "ALIVE":
        if paused_since_ns is not None:  # in its constructor
            return Doing("paused", None, paused_since_ns, None)
        return Doing("pending", None, fact.changed_ns, None)
    names = tuple(name for name in (short_class(fact.class_name), fact.repr_name) if name)
    method = method_in_title(title.title, names) if title else None
    running = stat.running if stat else None
    if paused_since_ns is not None:
        return Doing("paused", method or None, paused_since_ns, running)
    return _alive(method, title, stat)


def _alive(method: str | None, title: Title | None, stat: WorkerStat | None) -> Doing:
    since_ns = title.since_ns if title else None
    # A stat from before the title's change says nothing about now.
    fresh = stat if stat and (since_ns is None or stat.at_ns > since_ns + _STALE_AFTER_NS) else None
    running = fresh.running if fresh else None
    if method:
        waits = fresh is not None and fresh.calls_out > 0 and fresh.running <= 1
        return Doing("waiting" if waits else "running", method, since_ns, running)
    if running:
        # Threaded and async actors: the title falls back to "none runs" when the last one started has ended.
        waits = fresh is not None and fresh.calls_out > 0 and running == 1
        return Doing("waiting" if waits else "running", None, None, running)
    if method == "" or running == 0:
        return Doing("idle", None, since_ns if method == "" else None, running)
    return Doing(None, None, None, None)


def _end_state(fact: ActorFact) -> ActorState:
    if fact.death_kind not in _FAILURES:
        return "dead"
    if fact.death_kind in ("WORKER_DIED", "UNSPECIFIED") and any(
        word in (fact.death_cause or "") for word in _INTENDED_EXIT
    ):
        return "dead"
    return "failed"


def driver_doing(driver: Driver, stat: WorkerStat | None, paused_since_ns: int | None) -> Driver:
    """``driver`` with its state filled in: a driver that runs is ``running``, or ``waiting`` while calls are out."""
    if driver.state == "dead":
        return driver
    if paused_since_ns is not None:
        return msgspec.structs.replace(driver, state="paused", since_ns=paused_since_ns)
    if stat is None:
        return driver
    return msgspec.structs.replace(driver, state="waiting" if stat.calls_out else "running")
