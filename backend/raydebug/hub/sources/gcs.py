"""Nodes, jobs and actors from the GCS, and what workers tell their raylets; polled by a duty cycle."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from raydebug.api.facts import ClusterFacts, NodeFact
from raydebug.api.topology import SourceState
from raydebug.hub.model.cluster import Cluster
from raydebug.hub.sources.pace import Pace
from raydebug.ray_compat import Gcs, GcsError

log = logging.getLogger(__name__)

_STATS_TIMEOUT_S: Final = 2.0
_MAX_CLASSES_PER_LOOK: Final = 8


class GcsSource:
    """One poller for all viewers. ``changed`` is called after each look that brought something."""

    def __init__(self, gcs: Gcs, cluster: Cluster, changed: Callable[[], None]) -> None:
        self._gcs: Final = gcs
        self._cluster: Final = cluster
        self._changed: Final = changed
        self._agent_ports: dict[str, int] = {}

    async def run(self) -> None:
        pace = Pace(least_s=0.4)
        failing_since: float | None = None
        while True:
            began = time.monotonic()
            try:
                await self.look()
                failing_since = None
                note = None
            except GcsError as error:
                failing_since = failing_since or began
                note = f"the GCS doesn't answer for {began - failing_since:.0f} s: {error}"
            self._cluster.set_source(
                SourceState(
                    name="gcs",
                    ok=note is None,
                    age_ns=0 if note is None else int((time.monotonic() - (failing_since or began)) * 1e9),
                    period_ns=int(round(pace.period_s, 1) * 1e9),
                    note=note,
                )
            )
            self._changed()
            await asyncio.sleep(pace.pause_after(time.monotonic() - began))

    async def look(self) -> None:
        """Ask once and hand over what came."""
        nodes, jobs, actors = await asyncio.gather(self._gcs.nodes(), self._gcs.jobs(), self._gcs.actors())
        nodes = [await self._with_agent_port(node) for node in nodes]
        self._cluster.set_facts(ClusterFacts(nodes=nodes, jobs=jobs, actors=actors))
        for actor in self._cluster.methods_wanted()[:_MAX_CLASSES_PER_LOOK]:
            # [] when the class isn't there (yet): its job may have ended; asked once.
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

    def __init__(self, gcs: Gcs, cluster: Cluster, changed: Callable[[], None]) -> None:
        self._gcs: Final = gcs
        self._cluster: Final = cluster
        self._changed: Final = changed

    async def run(self) -> None:
        pace = Pace(least_s=0.8)
        while True:
            began = time.monotonic()
            nodes = [node for node in self._cluster.facts.nodes if node.alive]
            silent = [error for error in await asyncio.gather(*map(self._ask, nodes)) if error]
            period_ns = int(pace.period_s * 1e9)
            # What a silent raylet's workers said three periods ago says nothing about now.
            self._cluster.keep_stats_since(time.time_ns() - max(5_000_000_000, 3 * period_ns))
            self._cluster.set_source(
                SourceState(
                    name="node stats",
                    ok=not silent,
                    age_ns=0,
                    period_ns=int(round(pace.period_s, 1) * 1e9),
                    note=_silent_note(silent, len(nodes)),
                )
            )
            self._changed()
            await asyncio.sleep(pace.pause_after(time.monotonic() - began))

    async def _ask(self, node: NodeFact) -> str | None:
        try:
            self._cluster.set_stats(
                node.node_id, await asyncio.wait_for(self._gcs.worker_stats(node), _STATS_TIMEOUT_S)
            )
        except (GcsError, asyncio.TimeoutError):
            return f"{node.ip} ({node.node_id[:8]})"
        return None


def _silent_note(silent: Sequence[str], asked: int) -> str | None:
    if not silent:
        return None
    named = ", ".join(silent[:4]) + (", …" if len(silent) > 4 else "")
    return f"{len(silent)} of {asked} raylets don't answer in {_STATS_TIMEOUT_S:.0f} s: {named}"
