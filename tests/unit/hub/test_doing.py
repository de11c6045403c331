"""What an actor does now, by title and stat."""

from __future__ import annotations

import pytest

from raydebug.api.facts import WorkerStat
from raydebug.api.helper import Title
from raydebug.api.topology import Driver
from raydebug.hub.model.doing import actor_doing, driver_doing, method_in_title, short_class
from tests.unit.hub import facts

SECOND = 1_000_000_000


def title(text: str, since_ns: int | None = 5 * SECOND) -> Title:
    return Title(pid=1, title=text, since_ns=since_ns)


def stat(running: int, calls_out: int = 0, at_ns: int = 10 * SECOND) -> WorkerStat:
    return WorkerStat(worker_id="w", pid=1, job_id=None, running=running, queued=0, calls_out=calls_out, at_ns=at_ns)


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("ray::WorkerDict.actor_update", "actor_update"),
        ("ray::WorkerDict", ""),
        ("ray::Repr(3)", ""),
        ("ray::Repr(3).step", "step"),
        ("ray::my own task name", "my own task name"),
        ("VLLM::EngineCore", None),
        ("", None),
    ],
)
def test_method_in_title(text: str, method: str | None) -> None:
    assert method_in_title(text, ("WorkerDict", "Repr(3)")) == method


def test_short_class_of_a_local_class() -> None:
    assert short_class("create_colocated_worker_cls.<locals>.WorkerDict") == "WorkerDict"


@pytest.mark.parametrize(
    ("shown", "said", "state", "method", "since"),
    [
        # A sync actor: the title says it all, a stat adds whether it waits for others.
        ("ray::Worker.step", None, "running", "step", 5 * SECOND),
        ("ray::Worker.step", stat(1), "running", "step", 5 * SECOND),
        ("ray::Worker.step", stat(1, calls_out=2), "waiting", "step", 5 * SECOND),
        # A stat that is older than the title's change doesn't speak of this method.
        ("ray::Worker.step", stat(1, calls_out=2, at_ns=5 * SECOND), "running", "step", 5 * SECOND),
        ("ray::Worker", None, "idle", None, 5 * SECOND),
        ("ray::Worker", stat(0), "idle", None, 5 * SECOND),
        # A threaded or async actor: its title fell back when the last started method ended, others still run.
        ("ray::Worker", stat(2), "running", None, None),
        ("ray::Worker", stat(1, calls_out=1), "waiting", None, None),
        # Several methods at once: calls out of one of them don't mean that it waits.
        ("ray::Worker.step", stat(3, calls_out=1), "running", "step", 5 * SECOND),
        # No helper: the raylet's stat alone.
        (None, stat(1), "running", None, None),
        (None, stat(0), "idle", None, None),
        # A title that the job set itself.
        ("VLLM::Worker", stat(1), "running", None, None),
        ("VLLM::Worker", None, None, None, None),
        # Nothing can say.
        (None, None, None, None, None),
    ],
)
def test_alive(
    shown: str | None, said: WorkerStat | None, state: str | None, method: str | None, since: int | None
) -> None:
    now = actor_doing(facts.actor(), title(shown) if shown is not None else None, said)
    assert (now.state, now.method, now.since_ns) == (state, method, since)


def test_paused_keeps_its_method() -> None:
    now = actor_doing(facts.actor(), title("ray::Worker.step"), stat(1), paused_since_ns=7)
    assert (now.state, now.method, now.since_ns) == ("paused", "step", 7)


def test_paused_in_the_constructor() -> None:
    now = actor_doing(facts.actor(state="PENDING_CREATION", changed_ns=77), None, None, paused_since_ns=99)
    assert (now.state, now.method, now.since_ns) == ("paused", None, 99)


@pytest.mark.parametrize("state", ["DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING"])
def test_pending(state: str) -> None:
    now = actor_doing(facts.actor(state=state, changed_ns=77), None, None)
    assert (now.state, now.since_ns) == ("pending", 77)


@pytest.mark.parametrize(
    ("kind", "cause", "state"),
    [
        ("WORKER_DIED", "The actor died unexpectedly before finishing this task", "failed"),
        ("WORKER_DIED", "exit_actor() is called", "dead"),
        ("NODE_DIED", "", "failed"),
        ("CREATION_FAILED", "ValueError", "failed"),
        ("OOM", "", "failed"),
        ("RAY_KILL", "", "dead"),
        ("OUT_OF_SCOPE", "", "dead"),
        ("OWNER_DIED", "", "dead"),
        (None, None, "dead"),
    ],
)
def test_how_it_ended(kind: str | None, cause: str | None, state: str) -> None:
    now = actor_doing(facts.actor(state="DEAD", death_kind=kind, death_cause=cause, end_ns=9), None, stat(1))
    assert (now.state, now.since_ns) == (state, 9)


def test_driver() -> None:
    driver = Driver(worker_id="d", pid=1, node_id="n1", ip="10.0.0.1", state=None)
    assert driver_doing(driver, None, None).state is None
    assert driver_doing(driver, stat(0), None).state == "running"
    assert driver_doing(driver, stat(0, calls_out=1), None).state == "waiting"
    paused = driver_doing(driver, stat(0, calls_out=1), 3)
    assert (paused.state, paused.since_ns) == ("paused", 3)
    ended = Driver(worker_id="d", pid=1, node_id="n1", ip="10.0.0.1", state="dead", since_ns=8)
    assert driver_doing(ended, stat(1), 3) == ended
