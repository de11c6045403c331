"""Lanes x time x pixels: exact slices where a lane has few, bins where it has many."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from raydebug.api.timeline import Bins, LaneMarks, Marks, Slices
from raydebug.hub.model.timeline.bins import Raster, Spans, raster
from raydebug.hub.model.timeline.columns import UNKNOWN, Int64s
from raydebug.hub.model.timeline.states import DONE, HELD, MARK_OF_RANK, RUNS, RUNS_NOW
from raydebug.hub.model.timeline.store import TaskStore

MAX_PIXELS: Final = 8192
MAX_LANES: Final = 2048
FEW: Final = 48
"""So many slices a lane may always have, and one for each third pixel."""
MAX_SLICES: Final = 20_000
"""All slices of an answer."""


class Window(NamedTuple):
    from_ns: int
    to_ns: int
    pixels: int


class Asked(NamedTuple):
    """A lane of the query: its leaves, and whether it is a sum."""

    lane_id: str
    leaves: Sequence[int]
    is_sum: bool


class Ends(NamedTuple):
    """When attempts without an end of their own stop: job code -> Unix ns, 0 while it runs. ``held``: rows that stand
    at a breakpoint."""

    jobs: Int64s
    job_of_call: npt.NDArray[np.int64]
    held: Int64s


def timed(store: TaskStore, ends: Ends, now_ns: int) -> tuple[Int64s, Int64s, Int64s]:
    """Submission, start and end of all rows as they are drawn: known, in order, and none open."""
    columns = store.columns
    stop = ends.jobs[ends.job_of_call[columns.call]]
    stop = np.where((stop > 0) & (stop < now_ns), stop, now_ns)
    begin = store.begins()
    end = np.where(columns.end > 0, columns.end, np.maximum(stop, begin))
    start = np.where(columns.start == UNKNOWN, end, np.minimum(columns.start, end))
    return np.minimum(begin, start), start, end


def marks(
    store: TaskStore,
    job_id: str,
    asked: Sequence[Asked],
    window: Window,
    name_of_call: npt.NDArray[np.uint32],
    names: Sequence[str],
    ends: Ends,
    now_ns: int,
    version: int,
) -> Marks:
    """The marks of these lanes. ``name_of_call``: call code -> code in ``names``."""
    begin, start, end = timed(store, ends, now_ns)
    rows = np.flatnonzero((begin < window.to_ns) & (end >= window.from_ns))
    leaf = store.columns.leaf[rows]
    order = np.lexsort((start[rows], leaf))
    rows, leaf = rows[order], leaf[order]
    state = MARK_OF_RANK[store.columns.rank]
    state[ends.held] = HELD
    # What its worker has reported as run to its end, before the owner said how it ended.
    state[(state == RUNS_NOW) & (store.columns.exact != 0)] = DONE
    per_pixel = (window.to_ns - window.from_ns) / window.pixels
    slices = _SliceColumns(store, begin, start, end, state, name_of_call, now_ns)
    rasters: list[Raster] = []
    binned = 0
    found = []
    for lane in asked:
        mine = _rows_of(rows, leaf, lane.leaves)
        few = not lane.is_sum and len(mine) <= max(FEW, window.pixels // 3) and slices.count + len(mine) <= MAX_SLICES
        if few:
            at = slices.count
            depth = slices.add(mine)
            found.append(
                LaneMarks(lane_id=lane.lane_id, mode="slices", begin=at, end=slices.count, tasks=len(mine), depth=depth)
            )
            continue

        def pixels(at: Int64s, mine: Int64s = mine) -> npt.NDArray[np.float64]:
            return (at[mine] - window.from_ns) / per_pixel

        spans = Spans(pixels(begin), pixels(start), pixels(end), name_of_call[store.columns.call[mine]], state[mine])
        made = raster(spans, window.pixels, len(lane.leaves))
        rasters.append(made)
        at, binned = binned, binned + len(made.pixel)
        found.append(LaneMarks(lane_id=lane.lane_id, mode="bins", begin=at, end=binned, tasks=len(mine)))
    coder = _LocalNames(names)
    return Marks(
        job_id=job_id,
        version=version,
        base_ns=window.from_ns,
        from_ns=window.from_ns,
        to_ns=window.to_ns,
        pixels=window.pixels,
        lanes=found,
        slices=slices.encode(window.from_ns, coder),
        bins=_encode_bins(rasters, coder),
        names=coder.used,
    )


def _rows_of(rows: Int64s, leaf: npt.NDArray[np.uint32], leaves: Sequence[int]) -> Int64s:
    """Those of the rows, sorted by leaf, that lie on these leaves."""
    wanted = np.array(sorted(leaves), np.uint32)
    begins, ends = np.searchsorted(leaf, wanted, "left"), np.searchsorted(leaf, wanted, "right")
    if len(wanted) == 1:
        return rows[begins[0] : ends[0]]
    return np.concatenate([rows[b:e] for b, e in zip(begins, ends, strict=True)] or [rows[:0]])


class _LocalNames:
    """Codes of the store's names -> codes of an answer's own list."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._codes: dict[int, int] = {}
        self.used: list[str] = []

    def translate(self, codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        found, inverse = np.unique(codes, return_inverse=True)
        for code in found.tolist():
            if code not in self._codes:
                self._codes[code] = len(self.used)
                self.used.append(self._names[code])
        mine = np.array([self._codes[code] for code in found.tolist()], np.uint32)
        return mine[inverse] if len(codes) else np.zeros(0, np.uint32)


class _SliceColumns:
    def __init__(
        self,
        store: TaskStore,
        begin: Int64s,
        start: Int64s,
        end: Int64s,
        state: npt.NDArray[np.uint8],
        name_of_call: npt.NDArray[np.uint32],
        now_ns: int,
    ) -> None:
        self._store, self._begin, self._start, self._end = store, begin, start, end
        self._state, self._name_of_call, self._now_ns = state, name_of_call, now_ns
        self._rows: list[Int64s] = []
        self._depths: list[npt.NDArray[np.uint16]] = []
        self.count = 0

    def add(self, rows: Int64s) -> int:
        """Take the rows of a lane; how many lie on top of each other at most."""
        rows = rows[np.argsort(self._begin[rows], kind="stable")]
        ran = (self._store.columns.start[rows] != UNKNOWN) | (self._store.columns.rank[rows] >= RUNS)
        depths = np.zeros(len(rows), np.uint16)
        running = np.flatnonzero(ran)
        running = running[np.argsort(self._start[rows[running]], kind="stable")]
        depths[running] = stacked(self._start[rows[running]], self._end[rows[running]])
        self._rows.append(rows)
        self._depths.append(depths)
        self.count += len(rows)
        return int(depths.max(initial=0)) + 1

    def encode(self, base_ns: int, names: _LocalNames) -> Slices:
        rows = np.concatenate(self._rows) if self._rows else np.zeros(0, np.int64)
        columns = self._store.columns

        def after_base(at: Int64s, known: npt.NDArray[np.bool_]) -> bytes:
            return np.where(known, (at - base_ns).astype("<f8"), np.nan).astype("<f8").tobytes()

        # An attempt of an ended job that nobody told the end of stops with its job.
        stopped = (columns.end[rows] > 0) | (self._end[rows] < self._now_ns)
        return Slices(
            submit=after_base(columns.submit[rows], columns.submit[rows] != UNKNOWN),
            start=after_base(columns.start[rows], columns.start[rows] != UNKNOWN),
            end=after_base(self._end[rows], stopped),
            name=names.translate(self._name_of_call[columns.call[rows]]).astype("<u4").tobytes(),
            state=self._state[rows].tobytes(),
            depth=(np.concatenate(self._depths) if self._depths else np.zeros(0, np.uint16)).astype("<u2").tobytes(),
            attempt=columns.attempt[rows].astype("<u2").tobytes(),
            task_id=columns.words[rows].tobytes(),
        )


def stacked(start: Int64s, end: Int64s) -> npt.NDArray[np.uint16]:
    """For ranges sorted by start: the topmost row in which each has room."""
    depths = np.zeros(len(start), np.uint16)
    if len(start) < 2 or not (start[1:] < np.maximum.accumulate(end)[:-1]).any():
        return depths
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    rows = 0
    for at, (begin, until) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            heapq.heappush(free, rows)
            rows += 1
        row = heapq.heappop(free)
        depths[at] = min(row, 0xFFFF)
        heapq.heappush(busy, (max(until, begin + 1), row))
    return depths


def _encode_bins(rasters: Sequence[Raster], names: _LocalNames) -> Bins:
    def column(at: int, dtype: str) -> npt.NDArray[Any]:
        return np.concatenate([made[at] for made in rasters] or [np.zeros(0, dtype)]).astype(dtype)

    return Bins(
        index=column(0, "<u4").tobytes(),
        count=column(1, "<u4").tobytes(),
        name=names.translate(column(2, "<u4")).astype("<u4").tobytes(),
        busy=column(3, "u1").tobytes(),
        states=column(4, "u1").tobytes(),
    )


def check(window: Window, lanes: int) -> None:
    """Raises ValueError, naming what is wrong."""
    if not 1 <= window.pixels <= MAX_PIXELS:
        raise ValueError(f"pixels is {window.pixels}, expected 1 to {MAX_PIXELS}")
    if window.to_ns <= window.from_ns or window.from_ns < 0 or window.to_ns > 1 << 62:
        raise ValueError(f"from {window.from_ns} to {window.to_ns} is no range: Unix nanoseconds, from below to")
    if lanes > MAX_LANES:
        raise ValueError(f"{lanes} lanes are asked for, at most {MAX_LANES} at once")
