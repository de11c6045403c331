"""Small integers for what comes again and again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Interner(Generic[K]):
    """Gives each value a code, from 0 on; the first value, ``nothing``, has code 0."""

    def __init__(self, nothing: K) -> None:
        self._codes: Final[dict[K, int]] = {nothing: 0}
        self.values: Final[list[K]] = [nothing]

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: K) -> int:
        """The code of a value, a new one if it has none."""
        found = self._codes.get(value)
        if found is None:
            found = self._codes[value] = len(self.values)
            self.values.append(value)
        return found

    def find(self, value: K) -> int | None:
        """The code of a value, None if it has none."""
        return self._codes.get(value)
