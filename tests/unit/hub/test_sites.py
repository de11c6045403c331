"""Paused places from stacks."""

from __future__ import annotations

import msgspec

from raydebug.api.debug import DebugThread
from raydebug.api.helper import Frame, Thread
from raydebug.api.paused import PausedThread
from raydebug.hub.model.sites import Place, make_sites, paused_places, place_of_session, site_id

RAY = "/venv/lib/python3.11/site-packages/ray/util"
WAIT = [
    Frame(function="Event.wait", file="/usr/lib/python3.11/threading.py", line=629),
    Frame(function="wrapper", file="/venv/debugpy/public_api.py", line=47),
    Frame(function="set_trace", file=f"{RAY}/debugpy.py", line=94),
]


def thread(*frames: Frame, tid: int = 1) -> Thread:
    return Thread(thread_id=tid, name="MainThread", active=False, frames=list(frames))


def test_breakpoint_is_at_the_frame_below_set_trace() -> None:
    user = Frame(function="Actor.update", file="/job/actor.py", line=212)
    task = thread(*WAIT, Frame(function="set_trace", file=f"{RAY}/rpdb.py", line=299), user)
    driver = thread(*WAIT, Frame(function="_driver_set_trace", file=f"{RAY}/rpdb.py", line=320), user, tid=2)
    for place in paused_places([task, driver]):
        assert (place.kind, place.file, place.line, place.function) == (
            "breakpoint",
            "/job/actor.py",
            212,
            "Actor.update",
        )


def test_post_mortem_has_no_place_on_the_stack() -> None:
    stack = thread(
        *WAIT,
        Frame(function="_post_mortem", file=f"{RAY}/debugpy.py", line=137),
        Frame(function="_post_mortem", file=f"{RAY}/rpdb.py", line=343),
        Frame(function="Worker.main_loop", file="/venv/ray/_private/worker.py", line=1069),
    )
    (place,) = paused_places([stack])
    assert (place.kind, place.file, place.line) == ("exception", None, None)


def test_other_threads_are_not_paused() -> None:
    idle = thread(Frame(function="PythonGCThread.run", file="/venv/ray/_private/gc.py", line=1))
    own = thread(Frame(function="set_trace", file="/job/my/debugpy.py", line=3))
    assert paused_places([idle, own, thread()]) == []


def test_a_call_at_module_level_of_a_driver() -> None:
    stack = thread(*WAIT, Frame(function="<module>", file="/job/main.py", line=7))
    (place,) = paused_places([stack])
    assert (place.file, place.line) == ("/job/main.py", 7)


def member(rank: int, since_ns: int, job_id: str = "01") -> PausedThread:
    return PausedThread(
        worker_id=f"w{rank}",
        thread_id=1,
        worker_type="worker",
        actor_id=None,
        task_id=None,
        candidate_task_ids=[],
        task_name="update",
        job_id=job_id,
        group="actor",
        rank=rank,
        node_id="n",
        pid=rank,
        since_ns=since_ns,
        attached=False,
    )


def test_threads_at_one_place_are_one_site() -> None:
    here = Place(kind="breakpoint", file="a.py", line=1, function="f", thread_id=5)
    there = Place(kind="breakpoint", file="a.py", line=2, function="f")
    sites = make_sites([(here, member(1, 30)), (there, member(2, 10)), (here, member(0, 20))])
    assert [(s.line, s.since_ns, [m.rank for m in s.members]) for s in sites.values()] == [
        (2, 10, [2]),
        (1, 20, [0, 1]),
    ]


def test_one_place_in_two_jobs_is_two_sites() -> None:
    here = Place(kind="breakpoint", file="a.py", line=1, function="f")
    assert len(make_sites([(here, member(0, 1, "01")), (here, member(0, 1, "02"))])) == 2


def test_site_id_depends_on_the_place_alone() -> None:
    one = Place(kind="breakpoint", file="a.py", line=1, function="f", thread_id=5, note="x")
    other = Place(kind="breakpoint", file="a.py", line=1, function="f", thread_id=6)
    assert site_id(one, "01") == site_id(other, "01")


def test_a_place_is_one_however_its_function_was_learned() -> None:
    place = Place(kind="exception", file="/job.py", line=11, function="Rank.train", exception="ValueError")
    attached = msgspec.structs.replace(place, function="train")
    assert site_id(place, "01000000") == site_id(attached, "01000000")
    other = msgspec.structs.replace(place, line=12)
    assert site_id(place, "01000000") != site_id(other, "01000000")


def stopped_at(line: int, call_line: int | None, called: bool = True) -> DebugThread:
    return DebugThread(
        threadId=1,
        name="MainThread",
        state="stopped",
        reason="breakpoint",
        file="a.py",
        line=line,
        function="train",
        called=called,
        call_line=call_line,
    )


def test_a_thread_that_stopped_behind_its_breakpoint_is_where_that_is() -> None:
    before = Place(kind="breakpoint", file="a.py", line=24, function="Rank.train", thread_id=5)
    # Nobody attached saw it there: after a restart of the hub, say.
    assert place_of_session(stopped_at(25, 24), []).line == 24
    assert site_id(place_of_session(stopped_at(25, 24), []), "01") == site_id(before, "01")
    assert site_id(place_of_session(stopped_at(25, None), [before]), "01") == site_id(before, "01")
    # Another one, that happens to be near.
    assert place_of_session(stopped_at(26, 25), [before]).line == 25
    assert place_of_session(stopped_at(25, None, called=False), [before]).line == 25
