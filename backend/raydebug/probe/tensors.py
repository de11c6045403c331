"""An array or tensor looked at on request: statistics, a heat map, a window of a table, a slice.

Nothing is copied as a whole, nothing moves off a device but what is shown, and a CUDA tensor whose stream is busy is
refused: reading it would wait, in C code that no timeout ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import arrays, handles
from .arrays import number
from .text import module, short, type_name

CHUNK = 1 << 20
BINS = 32
# A heat map's cells on a side; what a block's value may be.
CELLS = 64
MOST_ROWS, MOST_COLUMNS, MOST_CELL = 500, 100, 80
MOST_VALUES = 2000
# Seconds: what isn't counted by then is said to be missing.
LONGEST = 5.0


class UnreadableError(ValueError):
    """Data that can't be read, or mustn't now."""


def inspect(reference: int, view: str = "statistics", **options: Any) -> dict[str, Any]:
    """What ``view`` shows of the value behind a handle; always with ``view`` and the value's ``summary``."""
    if view not in VIEWS:
        raise ValueError(f"view: one of {', '.join(VIEWS)}")
    value, _ = handles.get(reference)
    with handles.group_of(reference), arrays.quiet_torch():
        # Asked before anything touches the data.
        about = {key: item for key, item in (arrays.summary(value) or {}).items() if item is not None}
        return {"view": view, "summary": about or {"kind": type_name(type(value))}, **VIEWS[view](value, **options)}


# One way to numpy and torch


class Data:
    """A strided array: torch's or numpy's, indexed and reduced alike. ``note``: of what it is only a part."""

    def __init__(self, value: Any, note: str | None = None) -> None:
        self.value, self.note = value, note
        self.torch = module("torch") if arrays.is_tensor(value) else None
        self.shape = arrays.shape_of(value) or []
        self.integers = self._integers()

    def _integers(self) -> bool:
        if self.torch is None:
            return bool(self.value.dtype.kind in "iub")
        dtype = self.value.dtype
        return not (dtype.is_floating_point or dtype.is_complex)

    def at(self, index: Any) -> Data:
        return Data(self.value[index], self.note)

    def floats(self) -> Any:
        """Flat and double: a copy, of a chunk. Of complex numbers the absolute value."""
        value = self.value
        if self.torch is None:
            numpy = module("numpy")
            if value.dtype.kind == "c":
                value = numpy.abs(value)
            return numpy.asarray(value).astype(numpy.float64).reshape(-1)
        if value.is_complex():
            value = value.abs()
        return value.reshape(-1).to(self.torch.float64)

    def chunks(self) -> Iterator[Any]:
        """All of it as flat doubles, at most ``CHUNK`` at a time."""
        count = math.prod(self.shape)
        if count == 0:
            return
        if count <= CHUNK:
            yield self.floats()
            return
        rows = max(1, CHUNK // (count // self.shape[0] or 1))
        for start in range(0, self.shape[0], rows):
            part = self.at(slice(start, start + rows))
            if rows == 1:
                part = part.at(0)
            yield from part.chunks()

    def numbers(self) -> list[Any]:
        """As JSON has them; only for what is shown."""
        value = self.value
        if self.torch is not None:
            value = value.to(self.torch.float32) if str(value.dtype) in ("torch.bfloat16", "torch.float16") else value
            listed = value.tolist()
        else:
            listed = value.tolist()
        return [number(item) for item in flat(listed)]


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from flat(item)
    else:
        yield value


def readable(value: Any) -> Data:
    """The value's data, or why not."""
    if arrays.is_series(value) or arrays.is_dataframe(value):
        value = value.to_numpy()
    if arrays.is_array(value):
        if value.dtype.kind not in "iubfc":
            raise UnreadableError(f"no numbers: {arrays.short_dtype(value.dtype)}")
        # A memory map or a masked array is read as what lies below.
        return Data(value.view(arrays.array_class()))
    if not arrays.is_tensor(value):
        raise UnreadableError(f"no array: {type_name(type(value))}")
    note = None
    if not arrays.is_plain_tensor(value):
        inside = object.__getattribute__(value, "__dict__")
        if "_local_tensor" in inside:
            value, note = inside["_local_tensor"], "the local shard"
        elif arrays.named(value, "NestedTensor", "torch") and "_values" in inside:
            value, note = inside["_values"], "the values of all parts"
        else:
            raise UnreadableError(f"{type_name(type(value))}: its data isn't read, that may run its own code")
    if not arrays.has_data(value):
        raise UnreadableError("on the meta device: no data")
    if arrays.pending(value):
        raise UnreadableError("pending: its CUDA stream is busy, and reading would wait for it")
    value = value.detach()
    if value.is_nested:
        value, note = _joined(value), "the values of all parts"
    elif str(value.layout) == "torch.sparse_coo":
        value, note = value._values(), "the stored values of a sparse tensor"
    elif str(value.layout) != "torch.strided":
        value, note = value.values(), "the stored values of a sparse tensor"
    if value.is_quantized:
        value, note = value.dequantize() if value.numel() <= CHUNK else value.int_repr(), "of a quantized tensor"
    return Data(value, note)


def _joined(value: Any) -> Any:
    torch = module("torch")
    return torch.cat([part.reshape(-1) for part in value.unbind()])


# Statistics


class Tally:
    def __init__(self) -> None:
        self.count = self.nan = self.inf = self.zeros = self.finite = 0
        self.mean = self.squares = self.deviations = 0.0
        self.least, self.most = math.inf, -math.inf

    def add(self, library: Any, values: Any) -> None:
        """Chan's way to join means and deviations, so that large means cost no digits."""
        count = int(values.shape[0])
        finite = library.isfinite(values)
        nan = int(library.isnan(values).sum())
        whole = int(finite.sum())
        self.count += count
        self.nan += nan
        self.inf += count - whole - nan
        self.zeros += int((values == 0).sum())
        if not whole:
            return
        if whole < count:
            values = values[finite]
        mean = float(values.mean())
        deviations = float(((values - mean) ** 2).sum())
        delta, before = mean - self.mean, self.finite
        self.finite += whole
        self.mean += delta * whole / self.finite
        self.deviations += deviations + delta * delta * before * whole / self.finite
        self.squares += float((values**2).sum())
        self.least = min(self.least, float(values.min()))
        self.most = max(self.most, float(values.max()))

    def shown(self, integers: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"count": self.count, "nan": self.nan, "inf": self.inf, "zeros": self.zeros}
        if not self.finite:
            return {**found, "min": None, "max": None, "mean": None, "std": None, "l2": None}
        least: float | int = self.least
        most: float | int = self.most
        if integers:
            least, most = int(least), int(most)
        return {
            **found,
            "min": number(least),
            "max": number(most),
            "mean": number(self.mean),
            "std": number(math.sqrt(self.deviations / self.finite)),
            "l2": number(math.sqrt(self.squares)),
        }


def statistics(value: Any, longest: float = LONGEST) -> dict[str, Any]:
    """``count`` … ``l2`` of the finite values (std: of the population) and a histogram of 32 bins.

    ``seen`` < ``total``: time ran out.
    """
    data = readable(value)
    library = data.torch or module("numpy")
    end = time.monotonic() + longest
    tally, total = Tally(), math.prod(data.shape)
    for chunk in data.chunks():
        tally.add(library, chunk)
        if time.monotonic() > end:
            break
    found = {**tally.shown(data.integers), "seen": tally.count, "total": total, "histogram": None}
    if data.note is not None:
        found["note"] = data.note
    if tally.finite:
        found["histogram"] = histogram(data, tally, end + longest)
    return found


def histogram(data: Data, tally: Tally, end: float) -> dict[str, Any]:
    low, high = tally.least, tally.most
    width = (high - low) / BINS
    if not math.isfinite(width) or width == 0:
        return {"low": number(low), "high": number(high), "bins": [tally.finite]}
    bins = [0] * BINS
    seen = 0
    for chunk in data.chunks():
        seen += int(chunk.shape[0])
        if data.torch is not None:
            inside = chunk[(chunk >= low) & (chunk <= high)]
            # bincount, since histc changes nothing but has no doubles on every device.
            places = ((inside - low) / width).to(data.torch.int64).clamp_(0, BINS - 1)
            counts = data.torch.bincount(places, minlength=BINS).tolist()
        else:
            numpy = module("numpy")
            inside = chunk[(chunk >= low) & (chunk <= high)]
            places = numpy.clip(((inside - low) / width).astype(numpy.int64), 0, BINS - 1)
            counts = numpy.bincount(places, minlength=BINS).tolist()
        bins = [before + more for before, more in zip(bins, counts, strict=True)]
        if seen >= tally.count or time.monotonic() > end:
            break
    return {"low": number(low), "high": number(high), "bins": bins}


# Windows


def _window(asked: Any, size: int) -> tuple[int, int]:
    start, stop = asked if asked else (0, size)
    start = min(max(0, int(start)), size)
    return start, min(max(start, int(stop)), size)


def _leading(data: Data, index: Any, keep: int) -> tuple[Data, list[int]]:
    """The data at the given leading indices (0 where none is given), so that ``keep`` dimensions are left."""
    asked = [int(item) for item in index or []]
    leading = max(0, len(data.shape) - keep)
    used = [min(max(0, i), max(0, size - 1)) for i, size in zip(asked, data.shape[:leading], strict=False)]
    used += [0] * (leading - len(used))
    if 0 in data.shape[:leading]:
        # Nothing to index: as many dimensions as are asked for, with nothing in them.
        return Data(data.value.reshape(-1)[(None,) * (keep - 1)], data.note), []
    return data.at(tuple(used)) if used else data, used


def heatmap(
    value: Any,
    index: Any = None,
    rows: Any = None,
    columns: Any = None,
    reduce: str = "mean",
    cells: int = CELLS,
) -> dict[str, Any]:
    """The last two dimensions at leading ``index``, ``rows`` and ``columns`` [from, to), as at most 64×64 ``cells``.

    ``reduce``: a cell's value: stride (its first one), or mean, min, max of its block. ``block``: its size. A cell that
    isn't finite is text.
    """
    if reduce not in ("stride", "mean", "min", "max"):
        raise ValueError("reduce: stride, mean, min or max")
    data, used = _leading(readable(value), index, 2)
    while len(data.shape) < 2:
        data = data.at(None)
    cells = min(max(1, int(cells)), CELLS)
    top, bottom = _window(rows, data.shape[0])
    left, right = _window(columns, data.shape[1])
    high = max(1, -(-(bottom - top) // cells))
    wide = max(1, -(-(right - left) // cells))
    window = data.at((slice(top, bottom), slice(left, right)))
    if reduce == "stride" or (high == 1 and wide == 1):
        part = window.at((slice(None, None, high), slice(None, None, wide)))
        width = part.shape[1]
        numbers = part.numbers()
    else:
        numbers, width = _blocks(window, high, wide, reduce)
    drawn = [numbers[start : start + width] for start in range(0, len(numbers), width or 1)]
    finite = [cell for cell in numbers if isinstance(cell, (int, float)) and not isinstance(cell, bool)]
    found: dict[str, Any] = {
        "shape": data.shape,
        "index": used,
        "rows": [top, bottom],
        "columns": [left, right],
        "block": [high, wide],
        "reduce": reduce,
        "cells": drawn,
        "min": min(finite, default=None),
        "max": max(finite, default=None),
    }
    return found if data.note is None else {**found, "note": data.note}


def _blocks(window: Data, high: int, wide: int, reduce: str) -> tuple[list[Any], int]:
    tall, broad = window.shape
    found = []
    for top in range(0, tall, high):
        for left in range(0, broad, wide):
            block = window.at((slice(top, top + high), slice(left, left + wide)))
            found.append(_block(block, reduce))
    if window.torch is not None:
        # One copy off the device, for all.
        listed = window.torch.stack(found).tolist() if found else []
    else:
        listed = [float(item) for item in found]
    return [number(item) for item in listed], -(-broad // wide)


def _block(block: Data, reduce: str) -> Any:
    """The block's value; of a large one by chunks."""
    parts = [getattr(chunk, reduce)() for chunk in block.chunks()]
    if len(parts) == 1:
        return parts[0]
    if reduce == "mean":
        sizes = [int(chunk.shape[0]) for chunk in block.chunks()]
        return sum(part * size for part, size in zip(parts, sizes, strict=True)) / sum(sizes)
    if block.torch is not None:
        return getattr(block.torch.stack(parts), reduce)()
    return getattr(module("numpy").asarray(parts), reduce)()


def values(value: Any, index: Any = None, start: int = 0, count: int = 200) -> dict[str, Any]:
    """Values ``start`` … of the last dimension at leading ``index``."""
    data, used = _leading(readable(value), index, 1)
    if not data.shape:
        data = data.at(None)
    start, stop = _window((start, int(start) + min(max(0, int(count)), MOST_VALUES)), data.shape[0])
    return {
        "index": used,
        "start": start,
        "total": data.shape[0],
        "values": data.at(slice(start, stop)).numbers(),
        **({} if data.note is None else {"note": data.note}),
    }


def table(value: Any, rows: Any = None, columns: Any = None, index: Any = None) -> dict[str, Any]:
    """A window of a frame, a series or an array's last two dimensions, cells as short text."""
    if arrays.is_dataframe(value) or arrays.is_series(value):
        return _pandas_table(value, rows, columns)
    data, used = _leading(readable(value), index, 2)
    while len(data.shape) < 2:
        data = data.at((slice(None), None) if data.shape else None)
    top, bottom = _window(rows, data.shape[0])
    left, right = _window(columns, data.shape[1])
    bottom, right = min(bottom, top + MOST_ROWS), min(right, left + MOST_COLUMNS)
    numbers = data.at((slice(top, bottom), slice(left, right))).numbers()
    width = right - left
    return {
        "shape": data.shape,
        "index": used,
        "rows": [top, bottom],
        "columns": [left, right],
        "names": [str(column) for column in range(left, right)],
        "dtypes": [],
        "labels": [str(row) for row in range(top, bottom)],
        "cells": [[str(cell) for cell in numbers[at : at + width]] for at in range(0, len(numbers), width or 1)],
        **({} if data.note is None else {"note": data.note}),
    }


def _pandas_table(value: Any, rows: Any, columns: Any) -> dict[str, Any]:
    if arrays.is_series(value):
        value = value.to_frame()
    shape = arrays.shape_of(value) or [0, 0]
    top, bottom = _window(rows, shape[0])
    left, right = _window(columns, shape[1])
    bottom, right = min(bottom, top + MOST_ROWS), min(right, left + MOST_COLUMNS)
    window = value.iloc[top:bottom, left:right]
    by_column = [[cell_text(item) for item in window.iloc[:, at].tolist()] for at in range(right - left)]
    return {
        "shape": shape,
        "index": [],
        "rows": [top, bottom],
        "columns": [left, right],
        "names": [cell_text(name) for name in window.columns.tolist()],
        "dtypes": [arrays.short_dtype(dtype) for dtype in window.dtypes.tolist()],
        "labels": [cell_text(label) for label in window.index.tolist()],
        "cells": [[column[row] for column in by_column] for row in range(bottom - top)],
    }


def cell_text(value: Any) -> str:
    if type(value) is str:
        return value if len(value) <= MOST_CELL else value[:MOST_CELL] + "…"
    return short(value, MOST_CELL)[0]


VIEWS: dict[str, Callable[..., dict[str, Any]]] = {
    "statistics": statistics,
    "heatmap": heatmap,
    "table": table,
    "slice": values,
}
