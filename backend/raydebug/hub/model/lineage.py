"""Who made whom: the creator of an actor is the worker that owns it, and that worker is an actor's, too, or not."""

from __future__ import annotations

from collections.abc import Iterable

from raydebug.api.facts import ActorFact, JobFact, NodeFact


class Lineage:
    """Remembers which actor lived in which worker: the GCS forgets the address of an actor that has ended, while the
    actors that it made keep naming that worker as their owner."""

    def __init__(self) -> None:
        self._actor_of_worker: dict[str, str] = {}
        self._drivers: frozenset[str] = frozenset()

    def learn(self, actors: Iterable[ActorFact], jobs: Iterable[JobFact]) -> None:
        self._drivers = frozenset(job.driver_worker_id for job in jobs if job.driver_worker_id)
        known = set()
        for actor in actors:
            known.add(actor.actor_id)
            if actor.worker_id:
                self._actor_of_worker[actor.worker_id] = actor.actor_id
        # As bounded as the GCS's own table of actors.
        self._actor_of_worker = {worker: actor for worker, actor in self._actor_of_worker.items() if actor in known}

    def parent(self, actor: ActorFact) -> str | None:
        """The actor that made this one; None for those made by a driver or a normal task."""
        return self._actor_of_worker.get(actor.owner_worker_id or "")

    def made_by_task(self, actor: ActorFact) -> bool:
        owner = actor.owner_worker_id
        return owner is not None and owner not in self._drivers and owner not in self._actor_of_worker


def node_of_ip(ip: str | None, nodes: Iterable[NodeFact]) -> str | None:
    """The node with this address, None if there are several (nodes of one machine) or none."""
    found = [node.node_id for node in nodes if node.ip == ip and node.alive]
    return found[0] if len(found) == 1 else None
