"""A real cluster's parts: what brings its facts in, what makes the hub known there, who examines it."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from raydebug import ray_compat
from raydebug.api.debug import DebugSession
from raydebug.api.facts import NodeFact
from raydebug.api.health import HubEndpoint
from raydebug.api.helper import StepMark
from raydebug.api.names import KV_HUB, KV_NAMESPACE, KV_SECRET
from raydebug.api.task_facts import TaskBatch
from raydebug.api.topology import Actor, Group, Node, SourceState
from raydebug.hub.access.gate import Access
from raydebug.hub.app import Config
from raydebug.hub.debugger.broker import Broker
from raydebug.hub.debugger.keepers import Keepers
from raydebug.hub.debugger.target import Target
from raydebug.hub.doctor.collect import Doctor, HelperFacts, dashboard_facts
from raydebug.hub.model.cluster import Cluster
from raydebug.hub.model.pending_steps import PendingSteps
from raydebug.hub.model.store import Store
from raydebug.hub.model.timeline.timeline import Origin, TaskTimeline
from raydebug.hub.nodes.dial import NodeAddress
from raydebug.hub.sources.gcs import GcsSource, StatsSource
from raydebug.hub.sources.helpers import Helpers
from raydebug.hub.sources.paused import PausedSource
from raydebug.hub.sources.refresh import Refresher
from raydebug.hub.sources.since import SinceFile
from raydebug.hub.sources.task_push import Pushed, TaskPushSource
from raydebug.hub.sources.tasks import Pulled, Settling, TaskPullSource
from raydebug.hub.supervisor import FactSource

_LEASE_S: Final = 600.0
"""So long a keeper holds a worker stopped for which no hub comes; RAYDEBUG_LEASE_S sets it."""


class RealCluster:
    """Owns the connections to one cluster. ``sources`` are to be run, then ``close``."""

    def __init__(self, gcs_address: str, state_dir: Path, store: Store) -> None:
        """``state_dir``: private to the hub; exists."""
        self._gcs: Final = ray_compat.Gcs(gcs_address)
        self.cluster: Final = Cluster(store)
        self.timeline: Final = TaskTimeline(store)
        self.cluster.tasks_of_worker = self.timeline.candidates
        self._refresher: Final = Refresher(self._refresh_cluster)
        self._task_refresher: Final = Refresher(lambda: self.timeline.refresh(time.time_ns()))
        self.helpers: Final = Helpers(
            self._secret,
            on_state=self._helper_changed,
            on_titles=lambda _node, _changed, _gone: self._titles_changed(),
            on_steps=lambda node_id, marks: self._steps_said(node_id, marks),
            on_events=lambda node_id, events: self._push.came(node_id, events),
        )
        soon = self._refresher.soon
        since = SinceFile(state_dir / "paused.json")
        self._paused: Final = PausedSource(self._gcs, self.cluster, self.helpers, since, soon)
        self._steps: Final = PendingSteps(self.cluster.job_of_process, self.timeline.declare_step)
        self._pulled: Pulled | None = None
        self._pushed: Pushed | None = None
        self._settling: Final = Settling()
        self._pull: Final = TaskPullSource(self._gcs, self._tasks_came, self._tasks_pulled)
        self._push: Final = TaskPushSource(
            self._gcs,
            self.helpers,
            lambda: self.cluster.facts.nodes,
            apply=self._tasks_came,
            told=self._tasks_pushed,
            missed=self._pull.again,
        )
        self._broker: Broker | None = None
        self.sources: Final[Sequence[FactSource]] = (
            GcsSource(self._gcs, self.cluster, self._looked),
            StatsSource(self._gcs, self.cluster, soon),
            self._paused,
            self._pull,
            self._push,
        )

    def _steps_said(self, node_id: str, marks: list[StepMark]) -> None:
        self._steps.add(node_id, marks)
        self._task_refresher.soon()

    def _refresh_cluster(self) -> None:
        self.cluster.refresh()
        if self._broker is not None:
            self._broker.keepers.warm(self.cluster.nodes_with_paused())
        self._steps.settle()
        self._task_refresher.soon()

    def _tasks_came(self, batch: TaskBatch) -> None:
        self.timeline.apply(batch)
        self._task_refresher.soon()

    def _tasks_pulled(self, pulled: Pulled) -> None:
        self._pulled = pulled
        self._tell_origin()

    def _tasks_pushed(self, pushed: Pushed) -> None:
        self._pushed = pushed
        self._pull.only_on_demand = pushed.on
        if not pushed.on:
            self._pull.again()
        ended = {job.job_id: job.end_ns for job in self.cluster.facts.jobs if job.ended}
        # Ray marks what an ended job left running as failed in the GCS alone, some time later.
        if pushed.on and self._settling.due(ended, time.time_ns()):
            self._pull.again()
        self._tell_origin()

    def _tell_origin(self) -> None:
        pulled, pushed = self._pulled, self._pushed
        on = pushed is not None and pushed.on
        self.timeline.told(
            Origin(
                source="push" if on else "pull",
                fresh_ns=time.time_ns() if on else pulled.fresh_ns if pulled else None,
                period_ns=None if on or pulled is None else pulled.period_ns,
                ray=pulled.dropped if pulled else None,
                agent=pushed.dropped if pushed else None,
                truncated=pulled.truncated if pulled else 0,
                note=pushed.note if pushed else None,
            )
        )
        self._task_refresher.soon()

    def doctor(self, config: Config) -> Doctor:
        """What answers ``GET doctor``."""
        token_mode = ray_compat.token_mode()
        store = self.cluster.store
        return Doctor(
            nodes=lambda: [row for row in store.table("nodes").values() if isinstance(row, Node)],
            sources=lambda: [row for row in store.table("sources").values() if isinstance(row, SourceState)],
            helper=self._helper_facts,
            cluster=lambda: self.cluster.facts,
            dashboard=lambda: dashboard_facts(config.dashboard_url, token_mode),
            session_dir=str(config.session_dir),
        )

    def _helper_facts(self, node_id: str) -> HelperFacts | None:
        hello = self.helpers.hello(node_id)
        challenge = self.helpers.challenge(node_id)
        if hello is None or challenge is None:
            return None
        return HelperFacts(hello=hello, protocol=challenge.protocol, version=challenge.version)

    def debugger(self, access: Access) -> Broker:
        """What carries out the commands of the debugger."""
        self._broker = Broker(
            self._target,
            lambda found: Keepers(self._secret, found),
            self._sessions_changed,
            access.audit,
            float(os.environ.get("RAYDEBUG_LEASE_S") or _LEASE_S),
        )
        return self._broker

    async def _target(self, worker_id: str) -> Target | None:
        found = await self._gcs.debuggee(worker_id)
        if found is None:
            return None
        rows = self.cluster.store.table("actors").values()
        actor = next((row for row in rows if isinstance(row, Actor) and row.worker_id == worker_id), None)
        groups = self.cluster.store.table("groups")
        group = groups.get(actor.group_id) if actor is not None and actor.group_id else None
        return Target(
            worker_id=worker_id,
            worker_type="driver" if found.is_driver else "worker",
            node_id=found.node_id,
            host=found.ip,
            port=found.port,
            pid=found.pid,
            job_id=actor.job_id if actor else self.cluster.job_of_process(found.node_id, found.pid),
            actor_id=actor.actor_id if actor else None,
            group=group.name if isinstance(group, Group) else None,
            rank=actor.rank if actor else None,
        )

    def _sessions_changed(self, rows: dict[str, DebugSession]) -> None:
        self.cluster.store.replace("sessions", rows)
        self.cluster.set_sessions(rows)
        self._refresher.soon()

    async def publish(self, endpoint: HubEndpoint) -> None:
        """Make the hub known in the GCS KV."""
        await self._gcs.kv_put(KV_HUB, msgspec.json.encode(endpoint), KV_NAMESPACE)

    async def close(self) -> None:
        if self._broker is not None:
            await self._broker.close()
        await self.helpers.close()
        await self._gcs.close()

    async def _secret(self) -> str | None:
        """The cluster secret; who comes first, hub or an agent, makes it."""
        await self._gcs.kv_put(KV_SECRET, secrets.token_hex(32).encode(), KV_NAMESPACE, overwrite=False)
        held = await self._gcs.kv_get(KV_SECRET, KV_NAMESPACE)
        return held.decode() if held else None

    async def _looked(self) -> None:
        headers = ray_compat.ray_token_headers()
        addresses = [
            NodeAddress(node.node_id, _agent_url(node), headers)
            for node in self.cluster.facts.nodes
            if node.alive and node.agent_port
        ]
        await self.helpers.sync(addresses)
        if self._broker is not None:
            await self._broker.keepers.sync(addresses)
        for node_id, pids in self.cluster.pids_by_node().items():
            await self.helpers.watch(node_id, pids)
        self._helpers_changed()

    def _helper_changed(self, node_id: str) -> None:
        self._helpers_changed()
        if self.helpers.state(node_id)[0] == "up":
            self._paused.place_again(node_id)

    def _helpers_changed(self) -> None:
        for node in self.cluster.facts.nodes:
            self.cluster.set_helper(node.node_id, *self.helpers.state(node.node_id))
        self._titles_changed()

    def _titles_changed(self) -> None:
        self.cluster.set_titles(self.helpers.titles)
        self._refresher.soon()


def _agent_url(node: NodeFact) -> str:
    host = f"[{node.ip}]" if ":" in node.ip else node.ip
    return f"http://{host}:{node.agent_port}"
