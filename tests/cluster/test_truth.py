"""The timeline against a job's own diary: each attempt once, on its lane, at its time, with its outcome."""

from __future__ import annotations

import itertools
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from raydebug.api.timeline import JsonSlice, Task, Tasks
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in

DIARY = Path(__file__).parent / "jobs" / "diary.py"
TASKS = 20_000
CLOCK_NS = 1_000_000
"""Ray's stamps come from another clock call of the same machine; they never differ by more than this."""
WINDOWS = 200

Attempt = tuple[str, int]


class Ran(NamedTuple):
    name: str
    start_ns: int
    end_ns: int | None
    outcome: str
    worker_id: str
    node_id: str
    pid: int
    actor_id: str | None


def read_runs(directory: Path) -> dict[Attempt, Ran]:
    runs: dict[Attempt, Ran] = {}
    for file in directory.glob("ran-*"):
        for line in file.read_text().splitlines():
            task_id, attempt, name, start, end, outcome, worker_id, node_id, pid, actor_id = line.split()
            actor = None if actor_id == "-" else actor_id
            key = (task_id, int(attempt))
            assert key not in runs, f"{key} ran twice"
            runs[key] = Ran(name, int(start), int(end) or None, outcome, worker_id, node_id, int(pid), actor)
    return runs


def read_submissions(directory: Path) -> dict[str, tuple[int, int]]:
    lines = (line.split() for line in (directory / "submitted").read_text().splitlines())
    return {task_id: (int(before), int(after)) for task_id, _, before, after in lines}


@pytest.fixture(scope="module", params=["pull", "push"])
def cluster(request: pytest.FixtureRequest) -> Iterator[RayCluster]:
    plugin_in()
    with RayCluster(num_cpus=2, push=request.param == "push") as started:
        yield started


class Diary(NamedTuple):
    source: str
    runs: dict[Attempt, Ran]
    submissions: dict[str, tuple[int, int]]
    tasks: dict[Attempt, Task]
    answer: Tasks
    job_id: str


@pytest.fixture(scope="module")
def diary(cluster: RayCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diary]:
    directory = tmp_path_factory.mktemp("diary")
    driver = subprocess.Popen(
        [cluster.python, str(DIARY), str(directory), "--tasks", str(TASKS)],
        env={**cluster.env, "RAY_ADDRESS": cluster.address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert driver.stdout
        while not (line := driver.stdout.readline()).startswith("WRITTEN"):
            assert line, "the job ended before its time"
        runs, submissions = read_runs(directory), read_submissions(directory)
        job_id = api.the_job(cluster.url, "diary.py").job_id

        def settled() -> Tasks | None:
            answer = api.tasks(cluster.url, job=job_id, headers=cluster.debugger)
            ended = {(task.task_id, task.attempt) for task in answer.tasks if task.state in ("FINISHED", "FAILED")}
            exact = {key for key in runs if key in ended}
            return answer if len(exact) == len(runs) and _has_ends(answer, runs) else None

        answer = wait_for("all tasks to be there", settled, timeout=300, period=1)
        tasks = {(task.task_id, task.attempt): task for task in answer.tasks}
        assert len(tasks) == len(answer.tasks), "an attempt is there twice"
        yield Diary(answer.source, runs, submissions, tasks, answer, job_id)
    finally:
        driver.kill()
        driver.wait()


def _has_ends(answer: Tasks, runs: dict[Attempt, Ran]) -> bool:
    """Whether the workers' own reports of what they ran have come, too: a second after the rest."""
    alive = _survivors(runs)
    late = [
        task
        for task in answer.tasks
        if (run := runs.get((task.task_id, task.attempt))) and run.pid in alive and task.start_ns is None
    ]
    return not late


def _survivors(runs: dict[Attempt, Ran]) -> set[int]:
    """Processes that didn't die in the middle: a worker that exits takes its last second of reports with it."""
    died = {run.pid for run in runs.values() if run.outcome == "died"}
    return {run.pid for run in runs.values()} - died


def _outcome(diary: Diary, key: Attempt) -> str:
    """How an attempt ended. A worker that exits takes an answer along that it hadn't sent: the attempt was through, but
    its owner never heard of it, so it counts as died, and the task was tried again."""
    run = diary.runs[key]
    again = (key[0], key[1] + 1) in diary.runs
    unheard = run.outcome == "finished" and again and run.pid not in _survivors(diary.runs)
    return "died" if unheard else run.outcome


def test_every_attempt_is_there_and_no_other(cluster: RayCluster, diary: Diary) -> None:
    source = (cluster.push and "push") or "pull"
    assert diary.source == source
    assert (diary.answer.truncated, diary.answer.dropped.ray, diary.answer.dropped.hub) == (0, 0, 0)
    assert len(diary.submissions) == TASKS
    ran = {key for key, task in diary.tasks.items() if task.type in ("NORMAL_TASK", "ACTOR_TASK")}
    assert ran == set(diary.runs)
    assert Counter(run.outcome for run in diary.runs.values())["died"] > 0


def test_names_places_and_outcomes(diary: Diary) -> None:
    for key, run in diary.runs.items():
        task = diary.tasks[key]
        assert task.name == run.name
        outcome = _outcome(diary, key)
        assert task.state == ("FINISHED" if outcome == "finished" else "FAILED"), (key, run)
        assert (task.worker_id, task.node_id, task.actor_id) == (run.worker_id, run.node_id, run.actor_id)
        assert bool(task.error_type) == (outcome != "finished")
        if run.outcome == "failed":
            assert task.error_message
            assert "number" in task.error_message or "attempt" in task.error_message
        driver = next(t for t in diary.tasks.values() if t.type == "DRIVER_TASK")
        assert task.parent_task_id == driver.task_id


def test_times_are_those_of_the_job_itself(diary: Diary) -> None:
    alive = _survivors(diary.runs)
    neighbours: dict[str, list[tuple[Ran, Task]]] = defaultdict(list)
    for key, run in diary.runs.items():
        task = diary.tasks[key]
        assert task.submit_ns is not None
        before, after = diary.submissions[key[0]]
        if key[1] == 0:
            assert before - CLOCK_NS <= task.submit_ns <= after + CLOCK_NS, (key, run)
        if run.pid not in alive:
            continue  # what it ran in its last second is only known by its owner
        assert task.start_ns is not None, (key, run)
        assert task.end_ns is not None, (key, run)
        assert run.end_ns is not None
        assert task.start_ns <= run.start_ns + CLOCK_NS, (key, run, task)
        assert task.end_ns >= run.end_ns - CLOCK_NS, (key, run, task)
        if run.name.startswith("Rank."):
            neighbours[run.worker_id].append((run, task))
    assert len(neighbours) == 4
    # A sync actor runs one after the other, so each neighbour's own times bound the error from the other side.
    for ran in neighbours.values():
        ran.sort(key=lambda pair: pair[0].start_ns)
        for (run, task), (following, next_task) in itertools.pairwise(ran):
            assert task.end_ns is not None
            assert next_task.start_ns is not None
            assert run.end_ns is not None
            assert task.end_ns <= following.start_ns + CLOCK_NS, (run, task, following)
            assert next_task.start_ns >= run.end_ns - CLOCK_NS, (run, following, next_task)


def test_the_timeline_has_each_once_on_its_lane(cluster: RayCluster, diary: Diary) -> None:
    first = min(run.start_ns for run in diary.runs.values()) - 1_000_000_000
    last = max(task.end_ns or 0 for task in diary.tasks.values()) + 1
    seen: dict[Attempt, tuple[str | None, JsonSlice]] = {}
    binned = Counter[str]()
    step = (last - first) // WINDOWS + 1
    for begin in range(first, last, step):
        # As wide as it gets: few lanes are dense enough for bins then.
        answer = api.timeline(cluster.url, diary.job_id, begin, begin + step, 8192)
        for lane in answer.lanes:
            if lane.kind in ("rank", "actor", "worker"):
                binned[lane.mode] += bool(lane.bins)
                for mark in lane.slices:
                    known = seen.setdefault((mark.task_id, mark.attempt), (lane.lane_id, mark))
                    assert known[0] == lane.lane_id, "on two lanes"
    assert binned["bins"] == 0
    for key in diary.runs:
        lane_id, mark = seen[key]
        task = diary.tasks[key]
        assert lane_id == task.lane_id
        assert (mark.start_ns, mark.end_ns, mark.submit_ns) == (task.start_ns, task.end_ns, task.submit_ns)
        assert mark.state == ("finished" if _outcome(diary, key) == "finished" else "failed")
