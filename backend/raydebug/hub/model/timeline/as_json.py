"""Marks as JSON, for scripts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from raydebug.api.task_facts import TASK_ID_BYTES
from raydebug.api.timeline import (
    MARK_STATES,
    JsonBin,
    JsonLane,
    JsonSlice,
    Lane,
    LaneMarks,
    Marks,
    Pause,
    Step,
    Timeline,
    TimelineJob,
)


def timeline(
    marks: Marks, job: TimelineJob, lanes: Sequence[Lane], steps: list[Step], pauses: list[Pause], now_ns: int
) -> Timeline:
    """The same marks, with a list per lane."""
    slices, bins = _slices(marks), _bins(marks)
    found: dict[str, LaneMarks] = {lane.lane_id: lane for lane in marks.lanes}
    rows = []
    for lane in lanes:
        mine = found.get(lane.lane_id)
        if mine is None:
            continue
        rows.append(
            JsonLane(
                lane_id=lane.lane_id,
                kind=lane.kind,
                label=lane.label,
                parent_lane_id=lane.parent_lane_id,
                group_id=lane.group_id,
                role=lane.role,
                rank=lane.rank,
                actor_id=lane.actor_id,
                node_id=lane.node_id,
                tasks=mine.tasks,
                mode=mine.mode,
                slices=slices[mine.begin : mine.end] if mine.mode == "slices" else [],
                bins=bins[mine.begin : mine.end] if mine.mode == "bins" else [],
            )
        )
    return Timeline(
        time_ns=now_ns,
        job=job,
        from_ns=marks.from_ns,
        to_ns=marks.to_ns,
        width=marks.pixels,
        lanes=rows,
        steps=steps,
        pauses=pauses,
    )


def _slices(marks: Marks) -> list[JsonSlice]:
    columns = marks.slices

    def times(column: bytes) -> list[int | None]:
        after = np.frombuffer(column, "<f8")
        return [None if value != value else marks.base_ns + int(value) for value in after.tolist()]

    submit, start, end = times(columns.submit), times(columns.start), times(columns.end)
    names, states = np.frombuffer(columns.name, "<u4").tolist(), np.frombuffer(columns.state, "u1").tolist()
    depths, attempts = np.frombuffer(columns.depth, "<u2").tolist(), np.frombuffer(columns.attempt, "<u2").tolist()
    return [
        JsonSlice(
            task_id=columns.task_id[TASK_ID_BYTES * at : TASK_ID_BYTES * (at + 1)].hex(),
            attempt=attempts[at],
            name=marks.names[names[at]],
            state=MARK_STATES[states[at]],
            submit_ns=submit[at],
            start_ns=start[at],
            end_ns=end[at],
            depth=depths[at],
        )
        for at in range(len(names))
    ]


def _bins(marks: Marks) -> list[JsonBin]:
    columns = marks.bins
    index, count = np.frombuffer(columns.index, "<u4").tolist(), np.frombuffer(columns.count, "<u4").tolist()
    names, busy = np.frombuffer(columns.name, "<u4").tolist(), np.frombuffer(columns.busy, "u1").tolist()
    states = np.frombuffer(columns.states, "u1").tolist()
    width = marks.to_ns - marks.from_ns
    return [
        JsonBin(
            from_ns=marks.from_ns + index[at] * width // marks.pixels,
            to_ns=marks.from_ns + (index[at] + 1) * width // marks.pixels,
            count=count[at],
            name=marks.names[names[at]],
            busy=round(busy[at] / 255, 3),
            states=[name for bit, name in enumerate(MARK_STATES) if states[at] >> bit & 1],
        )
        for at in range(len(index))
    ]
