"""The tables of facts that the hub serves, and which of them changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from raydebug.api.stream import TablePatch, Tables, Topic

TOPIC_TABLES: Final[dict[Topic, tuple[str, ...]]] = {
    "topology": ("nodes", "jobs", "groups", "actors", "sources"),
    "paused": ("paused",),
    "timeline": ("timeline_jobs", "lanes", "steps", "pauses"),
    "debug": ("sessions",),
}

Table = Mapping[str, msgspec.Struct]


class Store:
    """Tables of immutable rows, replaced as a whole by the model.

    ``version(topic)`` grows with each change of one of its tables. Listeners are called after a change, synchronously;
    they must be quick and must not raise.
    """

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {name: {} for names in TOPIC_TABLES.values() for name in names}
        self._topic_of: Final = {name: topic for topic, names in TOPIC_TABLES.items() for name in names}
        self._versions: dict[Topic, int] = dict.fromkeys(TOPIC_TABLES, 0)
        self._listeners: list[Callable[[Topic], None]] = []

    def on_change(self, listener: Callable[[Topic], None]) -> None:
        self._listeners.append(listener)

    def version(self, topic: Topic) -> int:
        return self._versions[topic]

    def table(self, name: str) -> Table:
        return self._tables[name]

    def topic_tables(self, topic: Topic) -> dict[str, Table]:
        """The tables of a topic as they are now; they are never mutated, so a caller may keep them."""
        return {name: self._tables[name] for name in TOPIC_TABLES[topic]}

    def replace(self, name: str, rows: Table) -> bool:
        """Put ``rows`` in the place of the table; True if that changed anything."""
        if rows == self._tables[name]:
            return False
        self._tables[name] = rows
        topic = self._topic_of[name]
        self._versions[topic] += 1
        for listener in self._listeners:
            listener(topic)
        return True


def diff(before: Mapping[str, Table], after: Mapping[str, Table]) -> Tables:
    """What turns the tables ``before`` into ``after``; pass ``{}`` as ``before`` for all there is."""
    changed: dict[str, Any] = {}
    for name, rows in after.items():
        old = before.get(name)
        if old is rows:
            continue
        if old is None:
            changed[name] = TablePatch(set=list(rows.values()), drop=[])
            continue
        new = [row for key, row in rows.items() if old.get(key) != row]
        drop = [key for key in old if key not in rows]
        if new or drop:
            changed[name] = TablePatch(set=new, drop=drop)
    return Tables(**changed)
