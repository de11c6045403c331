"""Whom TARGET means."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from raydebug.api.debug import DebugSession
from raydebug.api.topology import Driver, Group, Job
from raydebug.cli.targets import AmbiguousError, Chosen, Known, NothingFoundError, resolve, resolve_one

from .samples import HOSTILE, NOW, actor, site, thread


def grp(name: str, group_id: str | None = None, job_id: str = "01000000") -> Group:
    return Group(
        group_id=group_id or f"id-{name}",
        job_id=job_id,
        name=name,
        kind="verl",
        parent_actor_id=None,
        world_size=2,
        roles=[],
    )


def rank(of: str, number: int | None, worker_id: str | None, **changes: Any) -> Any:
    return actor(f"{of}_{number}", group_id=f"id-{of}", rank=number, worker_id=worker_id, **changes)


def session(worker_id: str) -> DebugSession:
    return DebugSession(
        worker_id=worker_id,
        worker_type="worker",
        job_id=None,
        actor_id=None,
        node_id="1" * 56,
        pid=1,
        group=None,
        rank=None,
        state="running",
        attached_ns=NOW,
        attached_by="Ann",
    )


KNOWN = Known(
    actors=[
        rank("actor", 1, "aaaa1111"),
        rank("actor", 0, "aaaa0000"),
        rank("actor", 2, "aaaa2222", state="failed"),
        rank("critic", 0, "cccc0000"),
        actor("single", actor_id="5151515151", worker_id="eeee0000", group_id=None),
    ],
    groups=[grp("actor"), grp("critic"), grp("gone")],
    jobs=[
        Job(
            job_id="01000000",
            entrypoint="python train.py",
            state="running",
            start_ns=NOW,
            end_ns=None,
            driver=Driver(worker_id="dddd0000", pid=1, node_id=None, ip=None, state="paused"),
        )
    ],
    sites=[
        site(
            site_id="3fa9c1",
            line=12,
            file="/job/train.py",
            members=[
                thread(0, worker_id="aaaa0000", group="actor"),
                thread(0, worker_id="aaaa0000", group="actor", thread_id=7),
                thread(0, worker_id="dddd0000", group=None, rank=None, worker_type="driver"),
            ],
        ),
        site(site_id="3fb000", file=None, line=None, members=[thread(0, worker_id="bbbb0000", group=None, rank=None)]),
    ],
    sessions=[session("ffff0000")],
)


def ids(target: str, known: Known = KNOWN) -> list[str]:
    return [one.worker_id for one in resolve(target, known)]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("actor", ["aaaa0000", "aaaa1111"]),
        ("actor:1", ["aaaa1111"]),
        ("id-critic", ["cccc0000"]),
        ("id-critic:0", ["cccc0000"]),
        ("cccc", ["cccc0000"]),
        ("CCCC0000", ["cccc0000"]),
        ("dddd0", ["dddd0000"]),  # a driver
        ("ffff", ["ffff0000"]),  # known by its session alone
        ("bbbb", ["bbbb0000"]),  # known by its pause alone
        ("51515151", ["eeee0000"]),  # an actor's id
        ("site:3fa9c1", ["aaaa0000", "dddd0000"]),
        ("site:3fb", ["bbbb0000"]),
        ("all-paused", ["aaaa0000", "dddd0000", "bbbb0000"]),
        (" actor:0 ", ["aaaa0000"]),
    ],
)
def test_found(target: str, found: list[str]) -> None:
    assert ids(target) == found


def test_what_is_known_of_them() -> None:
    first, driver = resolve("site:3fa9c1", KNOWN)
    assert first == Chosen(
        worker_id="aaaa0000",
        label="actor:0",
        group="actor",
        rank=0,
        paused=2,
        site="3fa9c1",
    )
    assert (driver.label, driver.rank, driver.paused) == ("driver of job 01000000", None, 1)
    assert resolve("actor:1", KNOWN)[0].paused == 0
    assert resolve("all-paused", KNOWN)[0].site is None
    assert resolve("site:3fb", KNOWN)[0].site is None  # not known: it will be another
    assert resolve("bbbb", KNOWN)[0].label == "worker bbbb0000"
    assert resolve("51515151", KNOWN)[0].label == "single 51515151"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("actor:7", "no rank 7; it has 0-2"),
        ("actor:2", "Rank 2 of actor is failed"),
        ("gone", "No rank of gone is alive"),
        ("site:9", "No paused place is site:9"),
        ("site:", "No paused place"),
        ("wrker", "called wrker"),
        ("aaa", "called aaa"),  # too short a prefix
        ("actor:x", "called actor:x"),
        (HOSTILE, r"\x1b[2J"),
    ],
)
def test_nothing_found_tells_what_there_is(target: str, words: str) -> None:
    with pytest.raises(NothingFoundError) as caught:
        resolve(target, KNOWN)
    assert caught.value.exit_code == 1
    assert words in caught.value.message
    assert "\x1b" not in caught.value.message
    if target != "actor:7":
        assert "actor  ranks 0-1" in caught.value.message
        assert "site:3fa9c1  /job/train.py:12  3 threads" in caught.value.message


@pytest.mark.parametrize("target", ["aaaa", "site:3f", "", "  "])
def test_ambiguous(target: str) -> None:
    with pytest.raises(AmbiguousError) as caught:
        resolve(target, KNOWN)
    assert caught.value.exit_code == 2
    if target == "aaaa":
        assert "aaaa0000  actor:0" in caught.value.message


def test_groups_of_one_name_are_told_apart_by_their_ids() -> None:
    other = msgspec.structs.replace(KNOWN, groups=[*KNOWN.groups, grp("actor", "id-2", "02000000")])
    assert ids("actor", other) == ["aaaa0000", "aaaa1111"]  # the other has nobody alive
    both = msgspec.structs.replace(
        other, actors=[*KNOWN.actors, actor("x", group_id="id-2", rank=0, worker_id="9999000")]
    )
    with pytest.raises(AmbiguousError, match="id-2  of job 02000000"):
        resolve("actor:0", both)
    assert ids("id-2", both) == ["9999000"]


def test_a_group_may_be_called_anything() -> None:
    odd = Known(actors=[actor("x", group_id="g", rank=3, worker_id="w3")], groups=[grp("a:b:0", "g")])
    assert ids("a:b:0", odd) == ["w3"]
    assert ids("a:b:0:3", odd) == ["w3"]


def test_one() -> None:
    assert resolve_one("actor:1", KNOWN).worker_id == "aaaa1111"
    assert resolve_one("critic", KNOWN).worker_id == "cccc0000"
    with pytest.raises(AmbiguousError, match="actor means 2 workers") as caught:
        resolve_one("actor", KNOWN)
    assert "actor:1  aaaa1111" in caught.value.message


def test_an_empty_cluster() -> None:
    with pytest.raises(NothingFoundError, match="nothing is paused"):
        resolve("x", Known())
    with pytest.raises(NothingFoundError, match="Nothing is paused"):
        resolve("all-paused", Known())
