"""The columns: one row per attempt, found by its id without a Python object per row."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

UNKNOWN: Final = np.iinfo(np.int64).max
"""A time that isn't known, in the columns ``submit`` and ``start``, of which the least known one counts."""

DTYPES: Final[dict[str, Any]] = {
    "attempt": np.uint16,
    "call": np.uint32,  # code of (actor, name, type, job)
    "worker": np.uint32,  # code of the worker, 0: none known
    "parent": np.uint32,  # code of the parent's task id, 0: none known
    "leaf": np.uint32,  # code of its lane
    "error": np.uint32,  # code of (type, message), 0: none
    "submit": np.int64,  # Unix ns, UNKNOWN
    "start": np.int64,  # Unix ns, UNKNOWN
    "end": np.int64,  # Unix ns, 0: not known
    "rank": np.uint8,  # how far it is: an index into states.BY_RANK
    "exact": np.uint8,  # 1: start and end are the worker's own
}
_EMPTY: Final = {"submit": UNKNOWN, "start": UNKNOWN}
_FIRST: Final = 1024
_K: Final = [np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)]


class Columns:
    """``words``: the task ids, (rows, 3) uint64. All others are attributes of their names, one value per row.

    The index is an open-addressing table of row numbers over 64-bit hashes: 8 to 16 bytes a row.
    """

    def __init__(self) -> None:
        self.count = 0
        self._words: Words = np.empty((_FIRST, 3), np.uint64)
        self._data: dict[str, npt.NDArray[Any]] = {}
        for name, dtype in DTYPES.items():
            self._data[name] = np.full(_FIRST, _EMPTY.get(name, 0), dtype)
        self._table = np.full(4 * _FIRST, -1, np.int32)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        try:
            return self.__dict__["_data"][name][: self.count]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def words(self) -> Words:
        return self._words[: self.count]

    @property
    def bytes(self) -> int:
        """All memory held."""
        return self._words.nbytes + self._table.nbytes + sum(column.nbytes for column in self._data.values())

    def find(self, words: Words, attempts: npt.NDArray[np.uint16]) -> Int64s:
        """The rows of attempts, -1 where there is none."""
        return self._find(words, attempts, _hashes(words, attempts))

    def find_or_add(self, words: Words, attempts: npt.NDArray[np.uint16]) -> Int64s:
        """The rows of attempts; those that have none get one, at the end."""
        hashes = _hashes(words, attempts)
        rows = self._find(words, attempts, hashes)
        new = np.flatnonzero(rows < 0)
        if new.size == 0:
            return rows
        order = new[np.lexsort((attempts[new], words[new, 2], words[new, 1], words[new, 0]))]
        first = np.ones(order.size, np.bool_)
        first[1:] = (words[order[1:]] != words[order[:-1]]).any(axis=1) | (attempts[order[1:]] != attempts[order[:-1]])
        leads = order[first]
        begin = self.count
        self._grow(begin + leads.size)
        self._words[begin : self.count] = words[leads]
        self._data["attempt"][begin : self.count] = attempts[leads]
        if 2 * self.count > self._table.size:
            self._rebuild()
        else:
            self._insert(hashes[leads], np.arange(begin, self.count, dtype=np.int32))
        rows[order] = begin + np.cumsum(first) - 1
        return rows

    def keep(self, mask: Mask) -> None:
        """Forget all rows but those of ``mask``; row numbers change."""
        kept = int(mask.sum())
        capacity = max(_FIRST, kept + kept // 4)
        words = np.empty((capacity, 3), np.uint64)
        words[:kept] = self.words[mask]
        for name, column in self._data.items():
            fresh = np.full(capacity, _EMPTY.get(name, 0), column.dtype)
            fresh[:kept] = column[: self.count][mask]
            self._data[name] = fresh
        self._words, self.count = words, kept
        self._rebuild()

    def _grow(self, count: int) -> None:
        if count > len(self._words):
            capacity = max(count, len(self._words) + len(self._words) // 4)
            words = np.empty((capacity, 3), np.uint64)
            words[: self.count] = self.words
            self._words = words
            for name, column in self._data.items():
                fresh = np.full(capacity, _EMPTY.get(name, 0), column.dtype)
                fresh[: self.count] = column[: self.count]
                self._data[name] = fresh
        self.count = count

    def _find(self, words: Words, attempts: npt.NDArray[np.uint16], hashes: Words) -> Int64s:
        rows = np.full(len(words), -1, np.int64)
        mask = np.uint64(self._table.size - 1)
        slots = (hashes & mask).astype(np.int64)
        left = np.arange(len(words))
        attempt = self._data["attempt"]
        while left.size:
            candidates = self._table[slots[left]]
            there = candidates >= 0
            equal = (
                there & (self._words[candidates] == words[left]).all(axis=1) & (attempt[candidates] == attempts[left])
            )
            rows[left[equal]] = candidates[equal]
            left = left[there & ~equal]
            slots[left] = (slots[left] + 1) & (self._table.size - 1)
        return rows

    def _insert(self, hashes: Words, rows: npt.NDArray[np.int32]) -> None:
        slots = (hashes & np.uint64(self._table.size - 1)).astype(np.int64)
        while rows.size:
            free = self._table[slots] < 0
            self._table[slots[free]] = rows[free]
            # Of several that wanted the same slot the last one has it.
            lost = self._table[slots] != rows
            rows, slots = rows[lost], (slots[lost] + 1) & (self._table.size - 1)

    def _rebuild(self) -> None:
        size = 4 * _FIRST
        while size < 2 * self.count + 1:
            size *= 2
        self._table = np.full(size, -1, np.int32)
        self._insert(_hashes(self.words, self._data["attempt"][: self.count]), np.arange(self.count, dtype=np.int32))


def _hashes(words: Words, attempts: npt.NDArray[np.uint16]) -> Words:
    mixed = (words[:, 0] * _K[0]) ^ (words[:, 1] * _K[1]) ^ (words[:, 2] * _K[2]) ^ (attempts * _K[3])
    mixed ^= mixed >> np.uint64(29)
    mixed *= _K[0]
    hashed: Words = mixed ^ (mixed >> np.uint64(32))
    return hashed
