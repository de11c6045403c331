"""Tasks as their workers tell of them: relayed raw by the nodes' helpers, read here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from raydebug.api.facts import NodeFact
from raydebug.api.helper import Events
from raydebug.api.task_facts import TaskBatch
from raydebug.hub.model.store import Store
from raydebug.hub.sources.helpers import Helpers
from raydebug.hub.sources.report import Report
from raydebug.ray_compat import PUSH_SWITCHES, Gcs, GcsError, push_config, read_ray_events

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
_CHUNK: Final = 2000
_MEND: Final = "start the head with `raydebug start --head` in the place of `ray start --head`"


class Pushed(NamedTuple):
    """How push stands. ``on``: every node's tasks come by it. ``note``: why not, and what mends it. ``dropped``: events
    lost in the agents' and helpers' queues; None where no node relays any."""

    on: bool
    note: str | None
    dropped: int | None


@dataclass
class _Node:
    problem: str | None = "its helper has said nothing of events yet"
    epoch: str = ""
    next: int = 1
    dropped_agent: int = 0
    dropped_helper: int = 0
    dropped_before: int = 0
    """By helpers that lived before this one."""

    @property
    def dropped(self) -> int:
        return self.dropped_agent + self.dropped_helper + self.dropped_before

    def lost(self, events: Events) -> bool:
        """Take the counts; whether something is missing before or beside what came."""
        before = self.dropped
        # The first of a node after a start of ours counts, too: what came before isn't here.
        gap = events.epoch != self.epoch or (bool(events.data) and events.first != self.next)
        if events.epoch != self.epoch:
            self.epoch, self.next = events.epoch, 1
            self.dropped_before += self.dropped_helper
            self.dropped_helper = 0
        self.dropped_agent = max(self.dropped_agent, events.dropped_agent)
        self.dropped_helper = events.dropped_helper
        return gap or self.dropped > before


class TaskPushSource:
    """``apply`` gets what came; ``told`` how it stands, at least each second; ``missed`` is called when something that
    a look at the GCS may bring back was lost."""

    name: Final = "task events"

    def __init__(
        self,
        gcs: Gcs,
        helpers: Helpers,
        nodes: Callable[[], list[NodeFact]],
        *,
        apply: Callable[[TaskBatch], None],
        told: Callable[[Pushed], None],
        missed: Callable[[], None],
    ) -> None:
        self._gcs: Final = gcs
        self._helpers: Final = helpers
        self._alive: Final = nodes
        self._apply: Final = apply
        self._told: Final = told
        self._missed: Final = missed
        self._nodes: dict[str, _Node] = {}
        # Bounded by the helpers' windows: what isn't acknowledged isn't followed by more.
        self._queue: Final[asyncio.Queue[tuple[str, Events]]] = asyncio.Queue()
        self._config: dict[str, Any] | None = None
        self._dropped_by_lost = 0
        self.unreadable = 0

    def came(self, node_id: str, events: Events) -> None:
        """What a helper sent; called in the hub's loop."""
        self._queue.put_nowait((node_id, events))

    async def run(self, store: Store) -> None:
        reading = asyncio.create_task(self._read())
        report = Report(store, self.name)
        try:
            while not reading.done():
                await self._look(report)
                await asyncio.wait((reading,), timeout=LOOK_S)
            reading.result()
        finally:
            reading.cancel()

    async def _look(self, report: Report) -> None:
        if self._config is None:
            try:
                self._config = await self._gcs.system_config()
            except GcsError as error:
                report.ill(LOOK_S, f"how the head was started isn't known: {error}")
                return
        note = self._why_not(self._config)
        report.well(LOOK_S)
        self._forget_lost_nodes()
        counts = [node.dropped for node in self._nodes.values()]
        self._told(Pushed(note is None, note, self._dropped_by_lost + sum(counts) if counts else None))

    def _forget_lost_nodes(self) -> None:
        alive = {node.node_id for node in self._alive() if node.alive}
        for node_id in [node_id for node_id in self._nodes if alive and node_id not in alive]:
            self._dropped_by_lost += self._nodes.pop(node_id).dropped

    def _why_not(self, config: dict[str, Any]) -> str | None:
        if push_config() is None:
            return "this Ray can't push task events; 2.49 and later can"
        if not config.get(PUSH_SWITCHES[0]):
            return f"this cluster wasn't started with push: {_MEND}"
        alive = {node.node_id for node in self._alive() if node.alive}
        for node_id in sorted(alive):
            node = self._nodes.get(node_id)
            if self._helpers.state(node_id)[0] != "up":
                return f"node {node_id[:8]} has no helper that relays its tasks"
            if node is None or node.problem is not None:
                return f"node {node_id[:8]}: {node.problem if node else _Node.problem}"
        return None if alive else "no node is known yet"

    async def _read(self) -> None:
        while True:
            node_id, events = await self._queue.get()
            node = self._nodes.setdefault(node_id, _Node())
            node.problem = events.problem
            if node.lost(events):
                self._missed()
            if not events.data:
                continue
            node.next = events.first + len(events.data)
            for data in events.data:
                try:
                    batch, unreadable = await asyncio.to_thread(read_ray_events, data)
                except ValueError as error:
                    log.warning("task events of node %s can't be read: %s", node_id[:8], error)
                    self.unreadable += 1
                    continue
                self.unreadable += unreadable
                for part in _portions(batch):
                    self._apply(part)
                    await asyncio.sleep(0)
            await self._helpers.ack_events(node_id, events.epoch, node.next - 1)


def _portions(batch: TaskBatch) -> Iterator[TaskBatch]:
    most = max(len(batch.definitions), len(batch.changes), len(batch.runs), len(batch.dropped))
    for at in range(0, most, _CHUNK):
        end = at + _CHUNK
        yield TaskBatch(batch.definitions[at:end], batch.changes[at:end], batch.runs[at:end], batch.dropped[at:end])
