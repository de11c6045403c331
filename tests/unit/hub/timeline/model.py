"""The same as the store and its queries, plain and slow: dictionaries and loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from raydebug.api.task_facts import FAILED, FINISHED, TaskBatch, TaskChange, TaskDefinition, TaskRun
from raydebug.hub.model.timeline.states import BY_RANK

JOBS = (b"\x01\x00\x00\x00", b"\x02\x00\x00\x00")
ACTORS = tuple(bytes([n]) * 12 for n in (1, 2, 3))
NIL = b"\xff" * 12
WORKERS = tuple(bytes([n]) * 28 for n in (11, 12, 13))
NODES = (b"\x21" * 28, b"\x22" * 28)
NAMES = ("Worker.actor_update", "Worker.critic_values", "Worker.ping", "plain")
BASE = 1_700_000_000_000_000_000
SPAN = 10_000


@dataclass
class Slow:
    """One attempt."""

    name: str = ""
    parent: bytes = b""
    worker: bytes = b""
    submit: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    runs: list[tuple[int, int]] = field(default_factory=list)
    states: set[int] = field(default_factory=lambda: {0})
    error: tuple[str, str] = ("", "")

    @property
    def submit_ns(self) -> int | None:
        return min(self.submit, default=None)

    @property
    def start_ns(self) -> int | None:
        return min([start for start, _ in self.runs] or self.running, default=None)

    @property
    def end_ns(self) -> int | None:
        return max([end for _, end in self.runs] or self.ended, default=None)

    @property
    def state(self) -> int:
        if FAILED in self.states:
            return FAILED
        if FINISHED in self.states:
            return FINISHED
        return max(self.states, key=BY_RANK.index)


class SlowStore:
    def __init__(self) -> None:
        self.attempts: dict[tuple[bytes, int], Slow] = {}

    def apply(self, batch: TaskBatch) -> None:
        for define in batch.definitions:
            slow = self._at(define)
            slow.name, slow.parent = define.name, define.parent_task_id or slow.parent
        for change in batch.changes:
            slow = self._at(change)
            slow.states.add(change.state)
            position = BY_RANK.index(change.state)
            kind = slow.submit if position < 9 else slow.running if position < 12 else slow.ended
            kind.append(change.at_ns)
            slow.worker = change.worker_id or slow.worker
            if change.error_type:
                slow.error = (change.error_type, change.error_message)
        for run in batch.runs:
            slow = self._at(run)
            slow.runs.append((run.start_ns, run.end_ns))
            slow.states.add(8)

    def _at(self, entry: TaskDefinition | TaskChange | TaskRun) -> Slow:
        return self.attempts.setdefault((entry.task_id, entry.attempt), Slow())


@st.composite
def histories(draw: st.DrawFn, most: int = 12) -> list[TaskDefinition | TaskChange | TaskRun]:
    """What is said of some attempts, in any order, with repetitions."""
    said: list[TaskDefinition | TaskChange | TaskRun] = []
    times = st.integers(BASE, BASE + SPAN)
    for number in range(draw(st.integers(0, most))):
        job, actor = draw(st.sampled_from(JOBS)), draw(st.sampled_from((*ACTORS, NIL)))
        task_id = bytes([number + 1]) * 8 + actor + job
        parent = b"\xff" * 8 + NIL + job
        for attempt in range(draw(st.integers(1, 2))):
            if draw(st.integers(0, 9)) > 0:
                name = draw(st.sampled_from(NAMES))
                said.append(TaskDefinition(task_id, attempt, name, 0 if actor == NIL else 2, b"", parent))
            worker = draw(st.sampled_from(WORKERS))
            node = NODES[WORKERS.index(worker) % 2]
            marks = sorted(draw(st.lists(times, min_size=1, max_size=4)))
            states = draw(st.sampled_from(((1, 5, 8, 11), (1, 2, 8, 12), (1, 12), (8,), (1, 13), (11,))))
            for state, at in zip(states, marks, strict=False):
                place = (node, worker, 7) if state >= 5 else ()
                broken = ("TASK_EXECUTION_EXCEPTION", "boom") if state == 12 else ("", "")
                said.append(TaskChange(task_id, attempt, state, at, *(place or (b"", b"", 0)), *broken))
            if 8 in states and draw(st.booleans()):
                said.append(TaskRun(task_id, attempt, marks[0], marks[-1]))
    again = [one for one in said if draw(st.integers(0, 3)) == 0]
    return draw(st.permutations(said + again))


def batches(said: list[TaskDefinition | TaskChange | TaskRun], size: int) -> list[TaskBatch]:
    found = []
    for at in range(0, len(said), size):
        part = said[at : at + size]
        found.append(
            TaskBatch(
                [one for one in part if isinstance(one, TaskDefinition)],
                [one for one in part if isinstance(one, TaskChange)],
                [one for one in part if isinstance(one, TaskRun)],
                [],
            )
        )
    return found
