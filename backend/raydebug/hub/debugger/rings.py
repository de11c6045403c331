"""What is kept of a session's past, bounded: the oldest goes first, and is counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")


class Ring(Generic[T]):
    """Entries numbered from 0; ``size`` gives an entry's weight, at most ``most`` of which are kept."""

    def __init__(self, most: int, size: Callable[[T], int]) -> None:
        self._most: Final = most
        self._size: Final = size
        self._entries: deque[T] = deque()
        self._weight = 0
        self.end = 0
        """The number of the next entry."""

    @property
    def dropped(self) -> int:
        return self.end - len(self._entries)

    def add(self, make: Callable[[int], T]) -> T:
        """``make`` is given the entry's number."""
        entry = make(self.end)
        self.end += 1
        self._entries.append(entry)
        self._weight += self._size(entry)
        while self._weight > self._most and len(self._entries) > 1:
            self._weight -= self._size(self._entries.popleft())
        return entry

    def since(self, number: int, limit: int) -> list[T]:
        """The entries from ``number`` on that are kept, the newest ``limit`` of them."""
        skip = max(number - self.dropped, len(self._entries) - limit, 0)
        return [entry for at, entry in enumerate(self._entries) if at >= skip]
