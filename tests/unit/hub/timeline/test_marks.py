"""What views get against a plain slow model: nothing is lost, moved or counted twice."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydebug.api.stream import QueryTasks, QueryTimeline
from raydebug.api.task_facts import FAILED, FINISHED, TaskChange, TaskDefinition, TaskRun
from raydebug.api.timeline import MARK_STATES, JsonLane, Marks, Timeline
from raydebug.hub.model.store import Store
from raydebug.hub.model.timeline.bins import Spans, raster
from raydebug.hub.model.timeline.marks import stacked
from raydebug.hub.model.timeline.timeline import Origin, TaskTimeline
from raydebug.hub.model.views import Sight
from tests.unit.hub import rows
from tests.unit.hub.timeline.model import ACTORS, BASE, JOBS, NIL, SPAN, Slow, SlowStore, batches, histories

NOW = BASE + 2 * SPAN
ALL = Sight()
Said = list[TaskDefinition | TaskChange | TaskRun]


def tables(grouped: bool = True) -> Store:
    """Two running jobs; the first two actors of each are ranks of a group with two roles, the third is alone."""
    store = Store()
    jobs, actors, groups = {}, {}, {}
    for job in JOBS:
        job_id = job.hex()
        jobs[job_id] = rows.job(job_id)
        group_id = f"g{job_id}"
        groups[group_id] = msgspec.structs.replace(rows.group(group_id, job_id), roles=["actor", "critic"])
        for rank, actor in enumerate(ACTORS):
            actor_id = (actor + job).hex()
            member = grouped and rank < 2
            actors[actor_id] = rows.actor(
                actor_id=actor_id,
                job_id=job_id,
                group_id=group_id if member else None,
                rank=rank if member else None,
            )
    store.replace("jobs", jobs)
    store.replace("actors", actors)
    store.replace("groups", groups)
    return store


def timeline_of(said: Said, size: int = 9, store: Store | None = None) -> TaskTimeline:
    timeline = TaskTimeline(store or tables())
    timeline.refresh(NOW)
    for batch in batches(said, size):
        timeline.apply(batch)
        timeline.refresh(NOW)
    return timeline


def slow_of(said: Said) -> SlowStore:
    slow = SlowStore()
    for batch in batches(said, 1000):
        slow.apply(batch)
    return slow


def whole(timeline: TaskTimeline, job: bytes, begin: int, end: int, width: int) -> Timeline:
    return timeline.json(job.hex(), begin, end, width, ALL, NOW)


def leaves(answer: Timeline) -> list[JsonLane]:
    return [lane for lane in answer.lanes if lane.kind not in ("group", "role", "node")]


def span(slow: Slow) -> tuple[int, int]:
    """From when to when it is drawn."""
    times = [at for at in (slow.submit_ns, slow.start_ns, slow.end_ns) if at is not None]
    end = slow.end_ns if slow.end_ns is not None else max(NOW, min(times))
    return min(min(times), end), end


def expected_state(slow: Slow) -> str:
    if slow.state in (FINISHED, FAILED):
        return "finished" if slow.state == FINISHED else "failed"
    if slow.runs:
        return "finished"
    return "running" if slow.state in (8, 9, 10) else "pending"


@given(histories(), st.integers(0, SPAN), st.integers(1, SPAN), st.integers(1, 40))
def test_exact_slices_are_those_that_touch_the_window(said: Said, offset: int, length: int, size: int) -> None:
    timeline, slow = timeline_of(said, size), slow_of(said)
    for job in JOBS:
        expected = {}
        for (task_id, attempt), one in slow.attempts.items():
            begin, end = span(one)
            if task_id.endswith(job) and begin < BASE + offset + length and end >= BASE + offset:
                times = (one.submit_ns, one.start_ns, one.end_ns)
                expected[task_id.hex(), attempt] = (expected_state(one), *times)
        answer = whole(timeline, job, BASE + offset, BASE + offset + length, 1000)
        found = {}
        for lane in leaves(answer):
            assert lane.mode == "slices"
            for mark in lane.slices:
                assert (mark.task_id, mark.attempt) not in found
                found[mark.task_id, mark.attempt] = (mark.state, mark.submit_ns, mark.start_ns, mark.end_ns)
        assert found == expected


@given(histories())
def test_each_lies_on_its_lane(said: Said) -> None:
    timeline, slow = timeline_of(said), slow_of(said)
    for job in JOBS:
        for lane in leaves(whole(timeline, job, 0, 2 * NOW, 8000)):
            for mark in lane.slices:
                task_id = bytes.fromhex(mark.task_id)
                one = slow.attempts[task_id, mark.attempt]
                assert lane.lane_id == _lane(task_id, one), (lane, one)
                assert mark.name == _name(task_id, one)


def _name(task_id: bytes, one: Slow) -> str:
    if task_id[8:20] == NIL:
        return one.name
    method = one.name.rpartition(".")[2]
    return method if task_id[8:20] == ACTORS[2] else method.removeprefix("actor_").removeprefix("critic_")


def _lane(task_id: bytes, one: Slow) -> str:
    job, actor = task_id[20:].hex(), task_id[8:20]
    if actor == NIL:
        return f"worker:{job}/{one.worker.hex()}" if one.worker else f"pending:{job}"
    actor_id = task_id[8:].hex()
    if actor == ACTORS[2]:
        return f"actor:{actor_id}"
    role = "actor" if "actor_" in one.name else "critic" if "critic_" in one.name else ""
    return f"rank:{actor_id}/{role}"


@settings(deadline=None)
@given(histories(), st.integers(1, 64))
def test_sums_lose_nothing_that_failed(said: Said, width: int) -> None:
    timeline, slow = timeline_of(said), slow_of(said)
    for job in JOBS:
        answer = whole(timeline, job, BASE, BASE + SPAN + 1, width)
        group = [lane for lane in answer.lanes if lane.kind == "group"]
        members = {
            key: one
            for key, one in slow.attempts.items()
            if key[0].endswith(job) and key[0][8:20] in ACTORS[:2] and span(one)[0] <= BASE + SPAN
        }
        assert bool(group) == any(key[0].endswith(job) and key[0][8:20] in ACTORS[:2] for key in slow.attempts)
        if not group:
            continue
        assert group[0].mode == "bins"
        assert group[0].tasks == len(members)
        for one in members.values():
            begin, end = span(one)
            for at in (max(begin, BASE), min(end, BASE + SPAN)):
                inside = [b for b in group[0].bins if b.from_ns <= at <= b.to_ns]
                assert any(b.count > 0 for b in inside)
            if one.state == FAILED:
                assert any("failed" in b.states for b in inside)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(-3, 12), st.floats(0, 4), st.floats(0, 6), st.integers(0, 3), st.integers(0, 4))),
    st.integers(1, 10),
)
def test_bins_against_brute_force(made: list[tuple[float, float, float, int, int]], pixels: int) -> None:
    submit = np.array([one[0] for one in made])
    start = submit + np.array([one[1] for one in made]) if made else submit
    end = start + np.array([one[2] for one in made]) if made else start
    keep = (submit < pixels) & (end >= 0)
    spans = Spans(
        submit[keep],
        start[keep],
        end[keep],
        np.array([one[3] for one in made], np.uint32)[keep],
        np.array([one[4] for one in made], np.uint8)[keep],
    )
    found = raster(spans, pixels, 1)
    cells = dict(zip(found.pixel.tolist(), range(len(found.pixel)), strict=True))
    for pixel in range(pixels):
        touching = [
            at
            for at in range(len(spans.name))
            if min(max(int(np.floor(spans.submit[at])), 0), pixels - 1) <= pixel
            and pixel <= min(max(int(np.floor(spans.end[at])), 0), pixels - 1)
        ]
        assert (pixel in cells) == bool(touching)
        if not touching:
            continue
        cell = cells[pixel]
        assert found.tasks[cell] == len(touching)
        assert found.name[cell] in {spans.name[at] for at in touching}
        busy = sum(max(0.0, min(spans.end[at], pixel + 1) - max(spans.start[at], pixel)) for at in touching)
        assert abs(int(found.busy[cell]) - min(255, np.ceil(255 * busy))) <= 1
        assert {spans.state[at] for at in touching if MARK_STATES[spans.state[at]] in ("failed", "paused")} <= {
            bit for bit in range(5) if found.states[cell] >> bit & 1
        } | {spans.state[at] for at in touching if spans.start[at] >= pixel + 1}


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=40))
def test_stacked_slices_dont_overlap(made: list[tuple[int, int]]) -> None:
    made.sort()
    start, end = np.array([a for a, _ in made], np.int64), np.array([a + b for a, b in made], np.int64)
    depth = stacked(start, end)
    for i in range(len(made)):
        for j in range(i):
            if depth[i] == depth[j]:
                assert end[j] <= start[i] or start[j] == end[j]
    # As few rows as there are slices at one moment.
    most = max((int(((start <= at) & (np.maximum(end, start + 1) > at)).sum()) for at in start), default=1)
    assert int(depth.max(initial=0)) + 1 <= most or len(made) == 0


def marks(timeline: TaskTimeline, since: int = 0, lanes: list[str] | None = None) -> Marks:
    ids = lanes if lanes is not None else sorted(timeline._tables.table("lanes"))
    query = QueryTimeline(
        id=1, job_id=JOBS[0].hex(), lanes=ids, from_ns=BASE, to_ns=BASE + SPAN, pixels=100, since=since
    )
    return timeline.marks(query, ALL, NOW)


def by_lane(answer: Marks) -> dict[str, Any]:
    return {lane.lane_id: lane for lane in answer.lanes}


@given(histories(), st.integers(0, 30))
def test_what_came_since_turns_the_old_picture_into_the_new(said: Said, cut: int) -> None:
    timeline = timeline_of(said[:cut])
    before = {lane.lane_id: lane for lane in leaves(timeline_json(timeline))}
    version = marks(timeline).version
    for batch in batches(said[cut:], 3):
        timeline.apply(batch)
        timeline.refresh(NOW)
    changed = set(by_lane(marks(timeline, version)))
    for lane in leaves(timeline_json(timeline)):
        if lane.lane_id not in changed:
            assert lane == before[lane.lane_id]


def timeline_json(timeline: TaskTimeline) -> Timeline:
    return whole(timeline, JOBS[0], BASE, BASE + SPAN, 100)


def test_nothing_new_sends_no_lane() -> None:
    task_id = b"a" * 8 + ACTORS[0] + JOBS[0]
    timeline = timeline_of([TaskChange(task_id, 0, 8, BASE + 5)])
    first = marks(timeline)
    assert first.lanes
    assert marks(timeline, first.version).lanes == []


def test_roles_that_become_known_later_move_what_is_held() -> None:
    store = tables(grouped=False)
    task_id = b"a" * 8 + ACTORS[0] + JOBS[0]
    said: Said = [
        TaskDefinition(task_id, 0, "Worker.actor_update", 2),
        TaskChange(task_id, 0, 8, BASE + 5),
        TaskChange(task_id, 0, 11, BASE + 9),
    ]
    timeline = timeline_of(said, store=store)
    assert [lane.lane_id for lane in leaves(timeline_json(timeline))] == [f"actor:{task_id[8:].hex()}"]
    version = marks(timeline).version
    store.replace("actors", tables().table("actors"))
    timeline.refresh(NOW)
    assert [lane.lane_id for lane in leaves(timeline_json(timeline))] == [f"rank:{task_id[8:].hex()}/actor"]
    assert f"rank:{task_id[8:].hex()}/actor" in by_lane(marks(timeline, version))


def test_many_become_bins_and_a_failed_one_shows_in_them() -> None:
    said: Said = []
    for number in range(400):
        task_id = number.to_bytes(8, "big") + ACTORS[0] + JOBS[0]
        at = BASE + number * 25
        said += [
            TaskDefinition(task_id, 0, "Worker.actor_update", 2),
            TaskRun(task_id, 0, at, at + 20),
            TaskChange(task_id, 0, FAILED if number == 200 else FINISHED, at + 20),
        ]
    (lane,) = leaves(timeline_json(timeline_of(said, 100)))
    assert lane.mode == "bins"
    assert [b.from_ns for b in lane.bins if "failed" in b.states] == [BASE + 5000]
    assert lane.tasks == 400
    assert all(0.7 < b.busy < 0.9 for b in lane.bins)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"pixels": 0}, "pixels"),
        ({"pixels": 8193}, "pixels"),
        ({"to_ns": BASE}, "range"),
        ({"lanes": ["x"] * 2049}, "lanes"),
    ],
)
def test_a_bad_query_names_what_is_wrong(change: dict[str, Any], word: str) -> None:
    query = QueryTimeline(id=1, job_id=JOBS[0].hex(), lanes=[], from_ns=BASE, to_ns=BASE + 1, pixels=10)
    with pytest.raises(ValueError, match=word):
        timeline_of([]).marks(msgspec.structs.replace(query, **change), ALL, NOW)


def test_jobs_that_may_not_be_seen_are_not_there() -> None:
    task_id = b"a" * 8 + ACTORS[0] + JOBS[0]
    timeline = timeline_of([TaskChange(task_id, 0, 12, BASE + 5, b"", b"", 0, "X", "secret")])
    other = Sight(frozenset({JOBS[1].hex()}))
    query = QueryTimeline(id=1, job_id=JOBS[0].hex(), lanes=[], from_ns=BASE, to_ns=BASE + 1, pixels=10)
    with pytest.raises(LookupError):
        timeline.marks(query, other, NOW)
    with pytest.raises(LookupError):
        timeline.tasks(QueryTasks(id=1, job_id=JOBS[0].hex()), other, NOW)
    assert timeline.tasks(QueryTasks(id=1, job_id=None), other, NOW).tasks == []
    with pytest.raises(LookupError):
        timeline.tasks(QueryTasks(id=1, job_id=None, task_id=task_id.hex()), other, NOW)
    (seen,) = timeline.tasks(QueryTasks(id=1, job_id=None), Sight(messages=False), NOW).tasks
    assert (seen.error_type, seen.error_message) == ("X", None)
    (seen,) = timeline.tasks(QueryTasks(id=1, job_id=None), ALL, NOW).tasks
    assert seen.error_message == "secret"


def test_finding_tasks() -> None:
    job = JOBS[0].hex()
    parent = b"\xff" * 8 + NIL + JOBS[0]
    said: Said = []
    for number in range(10):
        task_id = bytes([0x10 + number]) * 8 + ACTORS[number % 3] + JOBS[0]
        said.append(TaskDefinition(task_id, 0, f"Worker.m{number}", 2, b"", parent))
        said.append(TaskChange(task_id, 0, 1, BASE + number))
        if number == 4:
            said.append(TaskChange(task_id, 0, 12, BASE + 50, b"", b"", 0, "OUT_OF_MEMORY", "no"))
    said.append(TaskChange(parent, 0, 8, BASE))
    timeline = timeline_of(said)
    timeline.told(Origin(fresh_ns=NOW - 7, ray=3, truncated=2))

    def names(**query: Any) -> list[str | None]:
        asked = QueryTasks(id=1, job_id=job, **query)
        return [task.name for task in timeline.tasks(asked, ALL, NOW).tasks if task.type == "ACTOR_TASK"]

    assert names(limit=3) == ["Worker.m9", "Worker.m8", "Worker.m7"]
    assert names(oldest_first=True, limit=4)[-1] == "Worker.m2"
    assert names(text="M4") == names(text="out_of") == names(text="1414") == names(text="14141") == ["Worker.m4"]
    assert names(states=["failed"]) == ["Worker.m4"]
    assert names(after_ns=BASE + 7) == ["Worker.m9", "Worker.m8"]
    assert names(before_ns=BASE + 1) == ["Worker.m0"]
    assert len(names(parent_task_id=parent.hex())) == 10
    assert names(text="rank 1") == ["Worker.m7", "Worker.m4", "Worker.m1"]
    answer = timeline.tasks(QueryTasks(id=1, job_id=job, limit=1), ALL, NOW)
    assert (answer.total, answer.age_ns, answer.truncated, answer.dropped.ray, answer.dropped.hub) == (11, 7, 2, 3, 0)
    (driver,) = timeline.tasks(QueryTasks(id=1, job_id=job, task_id=parent.hex()), ALL, NOW).tasks
    assert (driver.children, driver.lane_id, driver.state) == (10, f"driver:{job}", "RUNNING")
    for bad in ({"limit": 0}, {"task_id": "zz"}, {"parent_task_id": "00"}, {"states": ["odd"]}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            names(**bad)


def test_what_runs_when_its_job_ends_ends_with_it() -> None:
    store = tables()
    task_id = b"a" * 8 + ACTORS[0] + JOBS[0]
    timeline = timeline_of([TaskChange(task_id, 0, 8, BASE + 5)], store=store)
    (lane,) = leaves(timeline_json(timeline))
    assert lane.slices[0].end_ns is None
    job_id = JOBS[0].hex()
    store.replace("jobs", {job_id: msgspec.structs.replace(rows.job(job_id), state="finished", end_ns=BASE + 99)})
    timeline.refresh(NOW)
    (lane,) = leaves(timeline_json(timeline))
    assert lane.slices[0].end_ns == BASE + 99
