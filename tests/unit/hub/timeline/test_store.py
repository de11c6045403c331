"""The store against a plain slow model, and its bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from raydebug.api.task_facts import TaskBatch, TaskChange, TaskDefinition, TaskRun
from raydebug.hub.model.timeline.columns import UNKNOWN, Columns
from raydebug.hub.model.timeline.states import BY_RANK
from raydebug.hub.model.timeline.store import MAX_ERROR_TEXT, TaskStore
from tests.unit.hub.timeline.model import SlowStore, batches, histories

Said = list[TaskDefinition | TaskChange | TaskRun]


def contents(store: TaskStore) -> dict[tuple[bytes, int], tuple[object, ...]]:
    columns = store.columns
    found: dict[tuple[bytes, int], tuple[object, ...]] = {}
    for row in range(columns.count):
        key = (columns.words[row].tobytes(), int(columns.attempt[row]))
        assert key not in found
        submit, start, end = (int(column[row]) for column in (columns.submit, columns.start, columns.end))
        found[key] = (
            store.calls.values[columns.call[row]].name,
            store.parents.values[columns.parent[row]],
            store.workers.values[columns.worker[row]].worker_id,
            None if submit == UNKNOWN else submit,
            None if start == UNKNOWN else start,
            end or None,
            BY_RANK[columns.rank[row]],
            store.errors.values[columns.error[row]],
        )
    return found


@given(histories(), st.integers(1, 40))
def test_the_same_as_the_plain_model(said: Said, size: int) -> None:
    store, slow = TaskStore(), SlowStore()
    for batch in batches(said, size):
        store.apply(batch)
        slow.apply(batch)
    expected = {
        key: (one.name, one.parent, one.worker, one.submit_ns, one.start_ns, one.end_ns, one.state, one.error)
        for key, one in slow.attempts.items()
    }
    assert contents(store) == expected


@given(histories(), st.randoms())
def test_order_and_repetition_change_nothing(said: Said, random: object) -> None:
    one, other = TaskStore(), TaskStore()
    for batch in batches(said, 7):
        one.apply(batch)
    shuffled = [*said, *said]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for batch in batches(shuffled, 5):
        other.apply(batch)
    assert contents(one) == contents(other)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 2)), max_size=4000), st.integers(1, 700))
def test_each_attempt_has_one_row(keys: list[tuple[int, int]], size: int) -> None:
    columns = Columns()
    rows: dict[tuple[int, int], int] = {}
    for at in range(0, len(keys), size):
        part = keys[at : at + size]
        words = np.array([[key, 7, 9] for key, _ in part], np.uint64)
        attempts = np.array([attempt for _, attempt in part], np.uint16)
        for key, row in zip(part, columns.find_or_add(words, attempts).tolist(), strict=True):
            assert rows.setdefault(key, row) == row
    assert sorted(rows.values()) == list(range(columns.count))


def ended(number: int) -> list[TaskChange]:
    task_id = number.to_bytes(8, "big") + b"\xff" * 12 + b"\x01\x00\x00\x00"
    return [TaskChange(task_id, 0, 8, 1000 + number), TaskChange(task_id, 0, 11, 2000 + number)]


def test_the_cap_lets_the_oldest_ended_go_and_counts_them() -> None:
    store = TaskStore(cap=1000)
    forever = TaskChange(b"\x77" * 8 + b"\xff" * 12 + b"\x01\x00\x00\x00", 0, 8, 5)
    store.apply(TaskBatch([], [forever], [], []))
    for number in range(3000):
        store.apply(TaskBatch([], ended(number), [], []))
    assert store.columns.count <= 1000
    assert store.columns.count + store.dropped == 3001
    kept = contents(store)
    assert (forever.task_id, 0) in kept
    newest = {(ended(number)[0].task_id, 0) for number in range(2200, 3000)}
    assert newest <= set(kept)
    assert store.rows_of_task(forever.task_id).size == 1


def test_memory_per_task() -> None:
    store = TaskStore()
    for begin in range(0, 60_000, 2000):
        store.apply(TaskBatch([], [c for n in range(begin, begin + 2000) for c in ended(n)], [], []))
    assert store.columns.bytes / store.columns.count < 110


def test_a_long_error_message_is_clipped_and_says_so() -> None:
    store = TaskStore()
    task_id = ended(1)[0].task_id
    store.apply(TaskBatch([], [TaskChange(task_id, 0, 12, 9, b"", b"", 0, "X", "a" * 10_000)], [], []))
    _, message = store.errors.values[-1]
    assert len(message) < MAX_ERROR_TEXT + 100
    assert "more characters" in message
