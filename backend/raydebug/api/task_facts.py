"""What Ray says of tasks, freed of Ray's own types: made by ``ray_compat`` from either source, taken by the timeline.

Ids are Ray's binary ids: a task's has 24 bytes, of which the last 4 are its job's and, of an actor's task, the last 16
its actor's. An *attempt* is (task id, attempt number); all that is said of one may come in any order, late or twice.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TASK_ID_BYTES: Final = 24
ACTOR_ID_BYTES: Final = 16
JOB_ID_BYTES: Final = 4

# Ray's TaskType (src/ray/protobuf/common.proto).
NORMAL_TASK: Final = 0
ACTOR_CREATION_TASK: Final = 1
ACTOR_TASK: Final = 2
DRIVER_TASK: Final = 3
TASK_TYPES: Final = ("NORMAL_TASK", "ACTOR_CREATION_TASK", "ACTOR_TASK", "DRIVER_TASK")

# Ray's TaskStatus (the same file). 13 came with Ray 2.5x and lies before RUNNING in time.
TASK_STATES: Final = (
    "NIL",
    "PENDING_ARGS_AVAIL",
    "PENDING_NODE_ASSIGNMENT",
    "PENDING_OBJ_STORE_MEM_AVAIL",
    "PENDING_ARGS_FETCH",
    "SUBMITTED_TO_WORKER",
    "PENDING_ACTOR_TASK_ARGS_FETCH",
    "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY",
    "RUNNING",
    "RUNNING_IN_RAY_GET",
    "RUNNING_IN_RAY_WAIT",
    "FINISHED",
    "FAILED",
    "GETTING_AND_PINNING_ARGS",
)
RUNNING: Final = 8
FINISHED: Final = 11
FAILED: Final = 12


class TaskDefinition(NamedTuple):
    """What doesn't change about an attempt. ``type``: index into TASK_TYPES; empty bytes or text: none, unknown."""

    task_id: bytes
    attempt: int
    name: str
    type: int
    actor_id: bytes = b""
    parent_task_id: bytes = b""


class TaskChange(NamedTuple):
    """An attempt entered ``state`` (index into TASK_STATES) at ``at_ns`` (Unix ns of the clock of its node).

    ``node_id``, ``worker_id``: where it runs, and ``pid``; empty or 0 where this message doesn't say.
    ``error_type``: Ray's ErrorType (``TASK_EXECUTION_EXCEPTION``, …); ``error_message`` is user code's.
    """

    task_id: bytes
    attempt: int
    state: int
    at_ns: int
    node_id: bytes = b""
    worker_id: bytes = b""
    pid: int = 0
    error_type: str = ""
    error_message: str = ""


class TaskRun(NamedTuple):
    """When an attempt's function ran, by the worker that ran it (the profile event ``task::NAME``).

    It is the truth about the end: FINISHED and FAILED are stamped by the task's owner when it learns of it, some 3 to
    100 ms later where it is busy, so that on a lane of an actor each task would overlap the next. Comes up to 1 s after
    the end; never from a worker that died before it reported.
    """

    task_id: bytes
    attempt: int
    start_ns: int
    end_ns: int


class TaskBatch(NamedTuple):
    """What one answer or message brought. ``dropped``: attempts whose events Ray says it has dropped, where named."""

    definitions: list[TaskDefinition]
    changes: list[TaskChange]
    runs: list[TaskRun]
    dropped: list[tuple[bytes, int]]
