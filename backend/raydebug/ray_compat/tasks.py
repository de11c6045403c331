"""Ray's task events, as the GCS stores them and as workers send them to their node's aggregator, turned into batches.

Both tell the same: definition, state changes, and the profile event ``task::NAME`` by which the worker reports a run.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from raydebug.api.task_facts import (
    ACTOR_TASK,
    FAILED,
    TASK_ID_BYTES,
    TaskBatch,
    TaskChange,
    TaskDefinition,
    TaskRun,
)

log = logging.getLogger(__name__)

MAX_MESSAGE: Final = 4096
_ENTRIES: Final = 2000
"""Entries of a batch, about."""
_PRINTED: Final = 2000
_RUN: Final = "task::"
_LENGTH_DELIMITED: Final = 2
_TASK_EVENTS: Final = 2  # GetTaskEventsReply.events_by_task
_COUNTS: Final = {3: "profile_dropped", 4: "dropped", 5: "stored", 6: "filtered", 7: "truncated"}


class Reply(NamedTuple):
    """A GetTaskEventsReply that is still to be decoded. ``events``: where each task's message begins and ends."""

    events: list[tuple[int, int]]
    dropped: int
    profile_dropped: int
    stored: int
    truncated: int


class TaskReader:
    """Decodes what the GCS stores; what is as it was in the poll before isn't decoded again."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self.unreadable = 0

    def read(self, data: bytes) -> tuple[Reply, Iterator[TaskBatch]]:
        """The counts of a reply, and its news in batches, decoded while they are taken. Raises ValueError for what is
        no reply."""
        reply = split(data)
        return reply, self._batches(data, reply.events)

    def _batches(self, data: bytes, events: list[tuple[int, int]]) -> Iterator[TaskBatch]:
        message_class = _protocol().task_events
        seen: set[int] = set()
        batch = TaskBatch([], [], [], [])
        for at in range(0, len(events), _PRINTED):
            part = events[at : at + _PRINTED]
            for (begin, end), mark in zip(part, prints(data, part), strict=True):
                seen.add(mark)
                if mark in self._seen:
                    continue
                try:
                    _stored_task(message_class.FromString(data[begin:end]), batch)
                except Exception:
                    # Whatever a Ray that we don't know sends: the others go on.
                    self.unreadable += 1
                    log.debug("raydebug: a stored task event can't be read", exc_info=True)
                if len(batch.changes) >= _ENTRIES:
                    yield batch
                    batch = TaskBatch([], [], [], [])
        self._seen = seen
        if batch.definitions or batch.changes or batch.runs:
            yield batch

    def forget(self) -> None:
        """Decode all anew the next time."""
        self._seen = set()


def prints(data: bytes, spans: list[tuple[int, int]]) -> list[int]:
    """A fingerprint of each stretch that doesn't depend on the order of its bytes: the sum of a random 64-bit number
    per byte. Ray writes the maps of a message in another order each time, so that an unchanged task's bytes change
    places; a changed one has other bytes (a state's number and time come with each change)."""
    import numpy as np

    first, last = spans[0][0], spans[-1][1]
    # One more at the end: reduceat takes no edge there. It gives an element, not nothing, for a stretch without length.
    weights = np.zeros(last - first + 1, np.uint64)
    weights[:-1] = _weights()[np.frombuffer(data, np.uint8, last - first, first)]
    edges = np.array(spans, np.int64).ravel() - first
    sums = np.add.reduceat(weights, edges)[::2]
    lengths = edges[1::2] - edges[::2]
    found: list[int] = np.where(lengths > 0, sums ^ lengths.astype(np.uint64), 0).tolist()
    return found


@functools.cache
def _weights() -> Any:
    import numpy as np

    return np.random.default_rng().integers(0, 1 << 64, 256, np.uint64)


def split(data: bytes) -> Reply:
    """Cut a serialized GetTaskEventsReply into its tasks without decoding them. Raises ValueError."""
    view = memoryview(data)
    events: list[tuple[int, int]] = []
    counts = dict.fromkeys(_COUNTS.values(), 0)
    at, size = 0, len(view)
    while at < size:
        key, at = _varint(view, at)
        field, kind = key >> 3, key & 7
        if kind == _LENGTH_DELIMITED:
            length, at = _varint(view, at)
            if length > size - at:
                raise ValueError("a task event is cut off")
            if field == _TASK_EVENTS:
                events.append((at, at + length))
            at += length
        elif kind == 0:
            value, at = _varint(view, at)
            if field in _COUNTS:
                counts[_COUNTS[field]] = value
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} in a reply of task events")
    counts.pop("filtered")
    return Reply(events, **counts)


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(view) or shift > 63:
            raise ValueError("a number is cut off")
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _stored_task(event: Any, batch: TaskBatch) -> None:
    task_id, attempt = event.task_id, event.attempt_number
    if len(task_id) != TASK_ID_BYTES:
        raise ValueError("a task id of another length")
    if event.HasField("task_info"):
        info = event.task_info
        batch.definitions.append(
            TaskDefinition(task_id, attempt, info.name, info.type, _known(info.actor_id), _known(info.parent_task_id))
        )
    if event.HasField("state_updates"):
        updates = event.state_updates
        error = _error(updates.error_info) if updates.HasField("error_info") else ("", "")
        place = (updates.node_id, updates.worker_id, updates.worker_pid)
        for state, at_ns in updates.state_ts_ns.items():
            told = error if state == FAILED else ("", "")
            batch.changes.append(TaskChange(task_id, attempt, state, at_ns, *place, *told))
    if event.HasField("profile_events"):
        _runs(task_id, attempt, event.profile_events.events, batch)


def _runs(task_id: bytes, attempt: int, events: Any, batch: TaskBatch) -> None:
    for event in events:
        if event.event_name.startswith(_RUN):
            batch.runs.append(TaskRun(task_id, attempt, event.start_time, event.end_time))


def _error(info: Any) -> tuple[str, str]:
    message = info.error_message
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}\n… ({len(message) - MAX_MESSAGE} more characters)"
    return _error_name(info.error_type), message


@functools.cache
def _error_name(number: int) -> str:
    try:
        return str(_protocol().error_type.Name(number))
    except ValueError:
        return f"ERROR_{number}"


def _known(value: bytes) -> bytes:
    return b"" if not value.strip(b"\xff") else value


def read_ray_events(data: bytes) -> tuple[TaskBatch, int]:
    """The tasks of a serialized AddEventsRequest, as a worker sent it to its node's aggregator; and how many of its
    events could not be read. Events of other kinds are passed over. Raises ValueError for what is no such request."""
    request_class = _protocol().add_events
    if request_class is None:
        raise ValueError("this Ray has no event aggregator")
    try:
        events_data = request_class.FromString(data).events_data
    except Exception as error:
        raise ValueError(f"no AddEventsRequest: {error}") from error
    batch = TaskBatch([], [], [], [])
    unreadable = 0
    for event in events_data.events:
        read = _READERS.get(event.event_type)
        if read is None:
            continue
        try:
            read(event, batch)
        except Exception:
            unreadable += 1
            log.debug("raydebug: an event can't be read", exc_info=True)
    for dropped in events_data.task_events_metadata.dropped_task_attempts:
        batch.dropped.append((dropped.task_id, dropped.attempt_number))
    return batch, unreadable


def _definition(event: Any, batch: TaskBatch) -> None:
    it = event.task_definition_event
    parent = _known(it.parent_task_id)
    batch.definitions.append(TaskDefinition(it.task_id, it.task_attempt, it.task_name, it.task_type, b"", parent))


def _actor_definition(event: Any, batch: TaskBatch) -> None:
    it = event.actor_task_definition_event
    parent = _known(it.parent_task_id)
    batch.definitions.append(
        TaskDefinition(it.task_id, it.task_attempt, it.actor_task_name, ACTOR_TASK, _known(it.actor_id), parent)
    )


def _lifecycle(event: Any, batch: TaskBatch) -> None:
    if hasattr(event, "task_lifecycle_event"):
        it = event.task_lifecycle_event
        changes = [(move.state, move.timestamp) for move in it.state_transitions]
    else:  # Ray 2.49: of the same number
        it = event.task_execution_event
        changes = list(it.task_state.items())
    error = _error(it.ray_error_info) if it.HasField("ray_error_info") else ("", "")
    place = (it.node_id, it.worker_id, it.worker_pid)
    for state, at in changes:
        told = error if state == FAILED else ("", "")
        at_ns = at.seconds * 1_000_000_000 + at.nanos
        batch.changes.append(TaskChange(it.task_id, it.task_attempt, state, at_ns, *place, *told))


def _profile(event: Any, batch: TaskBatch) -> None:
    it = event.task_profile_events
    _runs(it.task_id, it.attempt_number, it.profile_events.events, batch)


_READERS: Final = {1: _definition, 2: _lifecycle, 3: _actor_definition, 4: _profile}
"""By RayEvent.EventType."""


class _TaskProtocol(NamedTuple):
    task_events: Any
    error_type: Any
    add_events: Any


@functools.cache
def _protocol() -> _TaskProtocol:
    from ray.core.generated import common_pb2, gcs_pb2

    try:
        from ray.core.generated.events_event_aggregator_service_pb2 import AddEventsRequest
    except ImportError:  # before 2.49 or so
        AddEventsRequest = None  # noqa: N806
    return _TaskProtocol(gcs_pb2.TaskEvents, common_pb2.ErrorType, AddEventsRequest)
