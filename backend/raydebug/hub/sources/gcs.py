"""Nodes, jobs and actors from the GCS, and what workers tell their raylets; polled by a duty cycle."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from raydebug.api.facts import ClusterFacts, NodeFact
from raydebug.hub.model.cluster import Cluster
from raydebug.hub.model.store import Store
from raydebug.hub.sources.pace import Pace
from raydebug.hub.sources.report import Report
from raydebug.ray_compat import Gcs, GcsError

_STATS_TIMEOUT_S: Final = 2.0
_STATS_LAST_NS: Final = 5_000_000_000
_MAX_CLASSES_PER_LOOK: Final = 8


class GcsSource:
    """One poller for all viewers. ``looked`` is awaited after each look that brought facts."""

    name: Final = "gcs"

    def __init__(self, gcs: Gcs, cluster: Cluster, looked: Callable[[], Awaitable[None]]) -> None:
        self._gcs: Final = gcs
        self._cluster: Final = cluster
        self._looked: Final = looked
        self._agent_ports: dict[str, int] = {}

    async def run(self, store: Store) -> None:
        pace = Pace(least_s=0.4)
        report = Report(store, self.name)
        failing_since: float | None = None
        while True:
            began = time.monotonic()
            try:
                await self.look()
            except GcsError as error:
                failing_since = failing_since or began
                report.ill(pace.period_s, f"no answer from the GCS for {began - failing_since:.0f} s: {error}")
            else:
                failing_since = None
                report.well(pace.period_s)
            cost = time.monotonic() - began
            await self._looked()
            await asyncio.sleep(pace.pause_after(cost))

    async def look(self) -> None:
        """Ask once and hand over what came."""
        nodes, jobs, actors = await asyncio.gather(self._gcs.nodes(), self._gcs.jobs(), self._gcs.actors())
        nodes = [await self._with_agent_port(node) for node in nodes]
        self._cluster.set_facts(ClusterFacts(nodes=nodes, jobs=jobs, actors=actors))
        for actor in self._cluster.methods_wanted()[:_MAX_CLASSES_PER_LOOK]:
            # [] when the class isn't there (its job may have ended): asked once.
            self._cluster.set_methods(actor.function, await self._gcs.class_methods(actor) or [])

    async def _with_agent_port(self, node: NodeFact) -> NodeFact:
        if node.agent_port or not node.alive:
            return node
        port = self._agent_ports.get(node.node_id) or await self._gcs.agent_port(node.node_id)
        if port is None:
            return node
        self._agent_ports[node.node_id] = port
        return msgspec.structs.replace(node, agent_port=port)


class StatsSource:
    """Which workers run how many methods, by their raylets: for actors whose process title can't say."""

    name: Final = "node stats"

    def __init__(self, gcs: Gcs, cluster: Cluster, changed: Callable[[], None]) -> None:
        self._gcs: Final = gcs
        self._cluster: Final = cluster
        self._changed: Final = changed

    async def run(self, store: Store) -> None:
        pace = Pace(least_s=0.8)
        report = Report(store, self.name)
        while True:
            began = time.monotonic()
            nodes = [node for node in self._cluster.facts.nodes if node.alive]
            silent = [error for error in await asyncio.gather(*map(self.ask, nodes)) if error]
            # What a silent raylet's workers said some time ago says nothing about now.
            self._cluster.keep_stats_since(time.time_ns() - max(_STATS_LAST_NS, int(3e9 * pace.period_s)))
            if silent:
                report.ill(pace.period_s, _silent_note(silent, len(nodes)))
            else:
                report.well(pace.period_s)
            self._changed()
            await asyncio.sleep(pace.pause_after(time.monotonic() - began))

    async def ask(self, node: NodeFact) -> str | None:
        """Ask a node's raylet; its name if it doesn't answer."""
        try:
            self._cluster.set_stats(await asyncio.wait_for(self._gcs.worker_stats(node), _STATS_TIMEOUT_S))
        except (GcsError, asyncio.TimeoutError):
            return f"{node.ip} ({node.node_id[:8]})"
        return None


def _silent_note(silent: Sequence[str], asked: int) -> str:
    named = ", ".join(silent[:4]) + (", …" if len(silent) > 4 else "")
    return f"{len(silent)} of {asked} raylets don't answer in {_STATS_TIMEOUT_S:.0f} s: {named}"
