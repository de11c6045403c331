"""``GET tasks``: which attempts match, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from raydebug.api.stream import QueryTasks
from raydebug.api.task_facts import TASK_ID_BYTES, TASK_TYPES
from raydebug.api.timeline import MARK_STATES, Task
from raydebug.api.topology import Actor
from raydebug.hub.model.timeline.columns import UNKNOWN, Int64s, Mask
from raydebug.hub.model.timeline.lanes import Lanes, Tree
from raydebug.hub.model.timeline.states import HELD, MARK_OF_RANK, NAMES
from raydebug.hub.model.timeline.store import TaskStore

MAX_LIMIT: Final = 200_000
_COUNT_CHILDREN_UP_TO: Final = 10_000
"""Longer answers are for statistics; counting is cheap then, too, but nobody reads it there."""


def task_id(text: str, parameter: str = "task_id") -> bytes:
    """Raises ValueError unless ``text`` is a task id in hex."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != TASK_ID_BYTES:
        raise ValueError(f"{parameter} is {text[:60]!r}, expected {2 * TASK_ID_BYTES} hexadecimal digits")
    return found


def matching(
    store: TaskStore, lanes: Lanes, tree: Tree, query: QueryTasks, jobs: Mask, state: npt.NDArray[np.uint8]
) -> Int64s:
    """The rows that match, the newest submission first (or the oldest). ``jobs``: per call code, whether its job may be
    seen. Raises ValueError."""
    columns = store.columns
    if not 1 <= query.limit <= MAX_LIMIT:
        raise ValueError(f"limit is {query.limit}, expected 1 to {MAX_LIMIT}")
    if query.task_id is not None:
        rows = store.rows_of_task(task_id(query.task_id))
        seen: Int64s = rows[jobs[columns.call[rows]]]
        return seen
    found: Mask = jobs[columns.call]
    if query.parent_task_id is not None:
        parent = store.parents.find(task_id(query.parent_task_id, "parent_task_id"))
        found = found & (columns.parent == (parent if parent is not None else -1))
    if query.states is not None:
        names: list[str] = list(MARK_STATES)
        if unknown := set(query.states) - set(MARK_STATES):
            raise ValueError(f"states has {sorted(unknown)[0][:40]!r}, expected some of {', '.join(MARK_STATES)}")
        found = found & np.isin(state, [names.index(name) for name in query.states])
    begins = store.begins()
    if query.after_ns is not None:
        found = found & (begins > query.after_ns)
    if query.before_ns is not None:
        found = found & (begins < query.before_ns)
    if query.to_ns is not None:
        found = found & (begins <= query.to_ns)
    if query.from_ns is not None:
        found = found & ((columns.end == 0) | (columns.end >= query.from_ns))
    if query.text:
        found = found & _holds(store, lanes, tree, query.text.lower())
    rows = np.flatnonzero(found)
    order = np.argsort(begins[rows], kind="stable")
    return rows[order if query.oldest_first else order[::-1]]


def _holds(store: TaskStore, lanes: Lanes, tree: Tree, text: str) -> Mask:
    columns = store.columns
    calls = np.array([text in call.name.lower() for call in store.calls.values], np.bool_)
    errors = np.array([text in kind.lower() for kind, _ in store.errors.values], np.bool_)
    labels = np.zeros(len(lanes.leaves), np.bool_)
    for lane_id, lane in tree.lanes.items():
        if text in lane.label.lower() and lane_id not in tree.sums:
            labels[tree.leaves[lane_id]] = True
    found: Mask = calls[columns.call] | errors[columns.error] | labels[columns.leaf]
    if len(text) >= 4 and all(digit in "0123456789abcdef" for digit in text):
        found = found | _id_begins(store, text)
    return found


def _id_begins(store: TaskStore, text: str) -> Mask:
    raw = np.frombuffer(bytes.fromhex(text[: len(text) // 2 * 2])[:TASK_ID_BYTES], np.uint8)
    ids = store.columns.words.view(np.uint8).reshape(-1, TASK_ID_BYTES)
    same: npt.NDArray[np.bool_] = (ids[:, : len(raw)] == raw).all(axis=1)
    if len(text) % 2 and len(raw) < TASK_ID_BYTES:
        same &= (ids[:, len(raw)] >> 4) == int(text[-1], 16)
    return same


def rows_to_tasks(
    store: TaskStore, lanes: Lanes, rows: Int64s, actors: Mapping[str, Actor], messages: bool
) -> list[Task]:
    """``messages``: with what exceptions say."""
    columns = store.columns
    children = np.zeros(len(store.parents), np.int64)
    if len(rows) <= _COUNT_CHILDREN_UP_TO:
        children = np.bincount(columns.parent, minlength=len(store.parents))
    ids = columns.words[rows].tobytes()
    taken = (columns.attempt, columns.call, columns.worker, columns.parent, columns.leaf, columns.error,
             columns.submit, columns.start, columns.end, columns.rank)  # fmt: skip
    found = []
    for at, values in enumerate(zip(*(column[rows].tolist() for column in taken), strict=True)):
        attempt, call, worker, parent, leaf, error, submit, start, end, rank = values
        own = ids[TASK_ID_BYTES * at : TASK_ID_BYTES * (at + 1)]
        what = store.calls.values[call]
        actor_id = what.actor_id.hex() or None
        actor = actors.get(actor_id) if actor_id else None
        lane = lanes.leaves[leaf]
        error_type, message = store.errors.values[error]
        code = store.parents.find(own)
        found.append(
            Task(
                task_id=own.hex(),
                attempt=attempt,
                name=what.name or None,
                type=TASK_TYPES[what.type] if 0 <= what.type < len(TASK_TYPES) else None,
                job_id=what.job_id.hex(),
                actor_id=actor_id,
                worker_id=store.workers.values[worker].worker_id.hex() or None,
                node_id=store.worker_node[worker].hex() or None,
                rank=actor.rank if actor else None,
                parent_task_id=store.parents.values[parent].hex() or None,
                state=NAMES[rank],
                submit_ns=None if submit == UNKNOWN else submit,
                start_ns=None if start == UNKNOWN else start,
                end_ns=end or None,
                error_type=error_type or None,
                error_message=(message or None) if messages else None,
                role=lane.role or None,
                group_id=lane.group_id,
                pid=store.worker_pid[worker] or None,
                lane_id=lane.lane_id,
                children=int(children[code]) if code else 0,
            )
        )
    return found


def mark_states(store: TaskStore, held: Int64s) -> npt.NDArray[np.uint8]:
    """Each row's index into MARK_STATES."""
    state: npt.NDArray[np.uint8] = MARK_OF_RANK[store.columns.rank]
    state[held] = HELD
    return state
