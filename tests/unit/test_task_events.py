"""Ray's own messages, built by Ray's own classes, against what is read of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ray.core.generated import common_pb2, gcs_pb2, gcs_service_pb2

from raydebug.api.task_facts import TaskBatch, TaskChange, TaskDefinition, TaskRun
from raydebug.ray_compat.tasks import MAX_MESSAGE, TaskReader, prints, read_ray_events, split

JOB = b"\x01\x00\x00\x00"
ACTOR = b"\x05" * 12 + JOB
TASK = b"\x07" * 8 + ACTOR
PARENT = b"\xff" * 20 + JOB
NODE, WORKER = b"\x02" * 28, b"\x03" * 28


def stored(task_id: bytes = TASK, attempt: int = 0, message: str = "boom") -> gcs_pb2.TaskEvents:
    event = gcs_pb2.TaskEvents(task_id=task_id, attempt_number=attempt, job_id=JOB)
    info = event.task_info
    info.name, info.type = "Worker.step", common_pb2.ACTOR_TASK
    info.task_id, info.parent_task_id, info.actor_id, info.job_id = task_id, PARENT, ACTOR, JOB
    updates = event.state_updates
    updates.node_id, updates.worker_id, updates.worker_pid = NODE, WORKER, 9
    for state, at in ((1, 100), (8, 200), (12, 300)):
        updates.state_ts_ns[state] = at
    updates.error_info.error_type, updates.error_info.error_message = common_pb2.TASK_EXECUTION_EXCEPTION, message
    for name, start, end in (("task:execute", 210, 280), ("task::Worker.step", 205, 290)):
        event.profile_events.events.add(event_name=name, start_time=start, end_time=end)
    return event


def reply(*events: gcs_pb2.TaskEvents) -> bytes:
    message = gcs_service_pb2.GetTaskEventsReply(
        events_by_task=events,
        num_status_task_events_dropped=3,
        num_profile_task_events_dropped=4,
        num_total_stored=5,
        num_filtered_on_gcs=6,
        num_truncated=7,
    )
    message.status.code = 0
    return bytes(message.SerializeToString())


def read(reader: TaskReader, data: bytes) -> TaskBatch:
    found = TaskBatch([], [], [], [])
    for batch in reader.read(data)[1]:
        found.definitions.extend(batch.definitions)
        found.changes.extend(batch.changes)
        found.runs.extend(batch.runs)
    return found


EXPECTED = TaskBatch(
    [TaskDefinition(TASK, 0, "Worker.step", 2, ACTOR, PARENT)],
    [
        TaskChange(TASK, 0, 1, 100, NODE, WORKER, 9),
        TaskChange(TASK, 0, 8, 200, NODE, WORKER, 9),
        TaskChange(TASK, 0, 12, 300, NODE, WORKER, 9, "TASK_EXECUTION_EXCEPTION", "boom"),
    ],
    [TaskRun(TASK, 0, 205, 290)],
    [],
)


def by_state(batch: TaskBatch) -> TaskBatch:
    return batch._replace(changes=sorted(batch.changes, key=lambda change: change.state))


def test_what_the_gcs_stores() -> None:
    assert by_state(read(TaskReader(), reply(stored()))) == EXPECTED


def test_what_is_as_before_is_not_decoded_again() -> None:
    reader = TaskReader()
    other = stored(b"\x08" * 8 + ACTOR)
    assert len(read(reader, reply(stored(), other)).definitions) == 2
    assert read(reader, reply(stored(), other)) == ([], [], [], [])
    other.state_updates.state_ts_ns[11] = 400
    assert [one.task_id for one in read(reader, reply(stored(), other)).definitions] == [other.task_id]
    reader.forget()
    assert len(read(reader, reply(stored(), other)).definitions) == 2


def test_the_order_of_maps_is_no_news() -> None:
    reader = TaskReader()
    event = stored()
    first = reply(event)
    states = event.state_updates.SerializeToString()
    # As the GCS does it: the same entries, one after another in another order.
    entries = []
    for state, at in ((12, 300), (1, 100), (8, 200)):
        only = gcs_pb2.TaskStateUpdate()
        only.state_ts_ns[state] = at
        entries.append(only.SerializeToString())
    plain = gcs_pb2.TaskStateUpdate()
    plain.ParseFromString(states)
    plain.state_ts_ns.clear()
    other = event.SerializeToString().replace(states, plain.SerializeToString() + b"".join(entries))
    shuffled = gcs_service_pb2.GetTaskEventsReply()
    body = bytes([0x12]) + _varint_of(len(other)) + other
    assert gcs_pb2.TaskEvents.FromString(other) == event
    assert len(read(reader, first).definitions) == 1
    assert read(reader, shuffled.SerializeToString() + body) == ([], [], [], [])


def _varint_of(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def test_stretches_of_any_length_have_prints() -> None:
    data = b"abcabc" + b"cab"
    one, other, third, nothing = prints(data, [(0, 3), (3, 6), (6, 9), (9, 9)])
    assert one == other == third
    assert nothing == 0
    assert prints(b"abd", [(0, 3)]) != [one]


def test_the_counts() -> None:
    found = split(reply(stored()))
    assert (found.dropped, found.profile_dropped, found.stored, found.truncated) == (3, 4, 5, 7)


def test_one_that_cant_be_read_is_counted_and_the_others_go_on() -> None:
    reader = TaskReader()
    assert len(read(reader, reply(stored(b"short"), stored())).definitions) == 1
    assert reader.unreadable == 1


@given(st.integers(0, 5), st.data())
def test_cut_anywhere_raises_or_gives_what_is_whole(count: int, data: st.DataObject) -> None:
    whole = reply(*(stored(bytes([n]) * 8 + ACTOR) for n in range(count)))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        found = split(whole[:cut])
    except ValueError:
        assert cut < len(whole)
    else:
        assert len(found.events) <= count


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes_do_no_harm(data: bytes) -> None:
    for work in (lambda: read(TaskReader(), data), lambda: read_ray_events(data)):
        try:
            work()
        except ValueError:
            continue


def test_a_long_message_is_clipped_and_says_so() -> None:
    (message,) = [
        c.error_message for c in read(TaskReader(), reply(stored(message="a" * 10_000))).changes if c.error_type
    ]
    assert len(message) < MAX_MESSAGE + 60
    assert message.endswith("more characters)")


def test_what_a_worker_sends_tells_the_same() -> None:
    service = pytest.importorskip("ray.core.generated.events_event_aggregator_service_pb2")
    pytest.importorskip("ray.core.generated.events_task_lifecycle_event_pb2")
    request = service.AddEventsRequest()
    events = request.events_data.events
    defined = events.add(event_type=3).actor_task_definition_event
    defined.task_id, defined.actor_id, defined.parent_task_id = TASK, ACTOR, PARENT
    defined.actor_task_name, defined.job_id = "Worker.step", JOB
    moved = events.add(event_type=2).task_lifecycle_event
    moved.task_id, moved.node_id, moved.worker_id, moved.worker_pid = TASK, NODE, WORKER, 9
    for state, at in ((1, 100), (8, 200), (12, 300)):
        moved.state_transitions.add(state=state).timestamp.FromNanoseconds(at)
    moved.ray_error_info.error_type = common_pb2.TASK_EXECUTION_EXCEPTION
    moved.ray_error_info.error_message = "boom"
    profiled = events.add(event_type=4).task_profile_events
    profiled.task_id = TASK
    profiled.profile_events.events.add(event_name="task::Worker.step", start_time=205, end_time=290)
    events.add(event_type=9)  # of an actor
    request.events_data.task_events_metadata.dropped_task_attempts.add(task_id=b"\x09" * 24, attempt_number=2)
    batch, unreadable = read_ray_events(request.SerializeToString())
    assert batch == EXPECTED._replace(dropped=[(b"\x09" * 24, 2)])
    assert unreadable == 0


def test_no_request_is_refused() -> None:
    with pytest.raises(ValueError, match="AddEventsRequest"):
        read_ray_events(b"\xff\xff\xff")
