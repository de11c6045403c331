"""A dense lane as pixels: how many attempts touch each, how busy it is, by what, and in which states."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from raydebug.hub.model.timeline.states import PENDING

Floats = npt.NDArray[np.float64]
_NAMES: Final = 24
"""So many names compete for the color of a pixel; the others take those that are left."""
_TOUCH: Final = 1e-6
"""What an attempt without length weighs, in pixels."""


class Spans(NamedTuple):
    """Attempts of a lane, in pixels of the window: waiting from ``submit`` to ``start``, running from there to ``end``.

    ``submit`` = ``start`` where it didn't wait, ``start`` = ``end`` where it didn't run. May reach out of the window.
    """

    submit: Floats
    start: Floats
    end: Floats
    name: npt.NDArray[np.uint32]
    state: npt.NDArray[np.uint8]


class Raster(NamedTuple):
    """Only the pixels that something touches."""

    pixel: npt.NDArray[np.uint32]
    tasks: npt.NDArray[np.uint32]
    name: npt.NDArray[np.uint32]
    busy: npt.NDArray[np.uint8]
    states: npt.NDArray[np.uint8]


def raster(spans: Spans, pixels: int, lanes: int) -> Raster:
    """``lanes``: how many leaves are summed up."""
    first, last = _cells(spans.submit, pixels), _cells(spans.end, pixels)
    count = _covered(first, last, pixels)
    began = spans.start < spans.end
    run_first = _cells(spans.start, pixels)
    states = np.zeros(pixels, np.uint8)
    for state in np.unique(spans.state):
        mine = spans.state == state
        # Waiting shows as waiting; the run, or what never ran, as the state that it is in.
        begin = np.where(began[mine], run_first[mine], first[mine]) if state != PENDING else first[mine]
        states[_covered(begin, last[mine], pixels) > 0] |= np.uint8(1 << int(state))
    waited = spans.submit < spans.start
    states[_covered(first[waited], run_first[waited], pixels) > 0] |= np.uint8(1 << PENDING)
    busy, name = np.zeros(pixels), np.zeros(pixels, np.uint32)
    best = np.zeros(pixels)
    names, totals = np.unique(spans.name, return_counts=True)
    for code in names[np.argsort(-totals, kind="stable")][:_NAMES]:
        mine = spans.name == code
        run = _coverage(spans.start[mine], spans.end[mine], pixels)
        busy += run
        weight = run + _TOUCH * _covered(first[mine], last[mine], pixels)
        wins = weight > best
        best[wins], name[wins] = weight[wins], code
    if len(names) > _NAMES:
        rest = ~np.isin(spans.name, names[np.argsort(-totals, kind="stable")][:_NAMES])
        busy += _coverage(spans.start[rest], spans.end[rest], pixels)
        left = rest & (best[first] == 0)
        name[first[left]] = spans.name[left]
    index = np.flatnonzero(count)
    share = np.clip(np.ceil(busy[index] * (255 / max(1, lanes))), 0, 255)
    return Raster(
        index.astype(np.uint32),
        count[index].astype(np.uint32),
        name[index],
        share.astype(np.uint8),
        states[index],
    )


def _cells(at: Floats, pixels: int) -> npt.NDArray[np.int64]:
    return np.clip(np.floor(at), 0, pixels - 1).astype(np.int64)


def _covered(first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], pixels: int) -> npt.NDArray[np.int64]:
    """How many of the ranges, both ends included, cover each pixel."""
    change = np.bincount(first, minlength=pixels + 1) - np.bincount(last + 1, minlength=pixels + 1)
    covered: npt.NDArray[np.int64] = np.cumsum(change[:pixels])
    return covered


def _coverage(start: Floats, end: Floats, pixels: int) -> Floats:
    """The summed lengths of the ranges inside each pixel."""
    start, end = np.clip(start, 0, pixels), np.clip(end, 0, pixels)
    first, last = np.minimum(start.astype(np.int64), pixels - 1), np.minimum(end.astype(np.int64), pixels - 1)
    # All pixels from the first to the one before the last count in full, then the ends are set right.
    change: Any = np.bincount(first, minlength=pixels + 1).astype(np.float64)
    change -= np.bincount(last, minlength=pixels + 1)
    full: Floats = np.cumsum(change[:pixels])
    full -= np.bincount(first, weights=start - first, minlength=pixels)
    full += np.bincount(last, weights=end - last, minlength=pixels)
    return np.maximum(full, 0)
