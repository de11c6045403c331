"""The cluster as it is built: joins what the sources bring into the tables that the hub serves.

Sources call the setters, then somebody calls :meth:`Cluster.refresh`; nothing is recomputed in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from raydebug.api.debug import DebugSession, DebugThread
from raydebug.api.facts import ActorFact, ClusterFacts, JobFact, PausedWorkerFact, WorkerStat
from raydebug.api.helper import Title
from raydebug.api.paused import PausedThread
from raydebug.api.topology import Actor, Driver, Group, HelperState, Job, Node
from raydebug.hub.model import doing, groups, sites
from raydebug.hub.model.lineage import Lineage, node_of_ip
from raydebug.hub.model.store import Store

MAX_ENDED_JOBS: Final = 20
MAX_DEAD_ACTORS: Final = 200
_ATTACH_NS: Final = 10_000_000_000
"""A thread's first stop, so soon after attaching, is the one that was attached to."""

Function = tuple[str, str, str, str]


class PausedPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """The paused threads of a worker or driver. ``task_name``: what its process title says, for those that are no
    actors."""

    worker: PausedWorkerFact
    places: list[sites.Place]
    since_ns: int
    job_id: str | None = None
    task_id: str | None = None


class Cluster:
    """The facts of one cluster and what follows from them."""

    def __init__(self, store: Store) -> None:
        self.store: Final = store
        self._facts = ClusterFacts(nodes=[], jobs=[], actors=[])
        self._actors_by_pid: dict[tuple[str, int], list[ActorFact]] = {}
        self._methods: dict[Function, Sequence[str]] = {}
        self._stats: dict[str, WorkerStat] = {}
        self._titles: dict[tuple[str, int], Title] = {}
        self._helpers: dict[str, tuple[HelperState, str | None]] = {}
        self._paused: dict[str, PausedPlaces] = {}
        self._sessions: Mapping[str, DebugSession] = {}
        self._before: dict[str, PausedPlaces] = {}
        self._lineage: Final = Lineage()
        self._roles: dict[str, str] = {}
        self.tasks_of_worker: Callable[[str], list[str]] = lambda _worker_id: []
        """Which tasks run in a worker, by the timeline."""

    @property
    def facts(self) -> ClusterFacts:
        return self._facts

    def set_facts(self, facts: ClusterFacts) -> None:
        self._facts = facts
        self._actors_by_pid = defaultdict(list)
        for actor in facts.actors:
            if actor.pid and actor.node_id:
                self._actors_by_pid[actor.node_id, actor.pid].append(actor)
        self._lineage.learn(facts.actors, facts.jobs)

    def set_methods(self, function: Function, methods: Sequence[str]) -> None:
        self._methods[function] = methods

    def methods_wanted(self) -> list[ActorFact]:
        """One actor of each class whose method names are needed (for the roles of colocated workers)."""
        wanted = {
            actor.function: actor
            for actor in self._facts.actors
            if "WG_PREFIX" in actor.env and actor.function not in self._methods
        }
        return list(wanted.values())

    def set_stats(self, stats: Iterable[WorkerStat]) -> None:
        for stat in stats:
            self._stats[stat.worker_id] = stat

    def keep_stats_since(self, oldest_ns: int) -> None:
        """Forget what workers said before: nothing is known of them now."""
        self._stats = {key: stat for key, stat in self._stats.items() if stat.at_ns >= oldest_ns}

    def set_titles(self, titles: Mapping[tuple[str, int], Title]) -> None:
        """``titles``: (node id, pid) -> title, all there are."""
        self._titles = dict(titles)

    def set_helper(self, node_id: str, state: HelperState, note: str | None) -> None:
        self._helpers[node_id] = (state, note)

    def set_paused(self, paused: Mapping[str, PausedPlaces]) -> None:
        """``paused``: worker id -> its places, all that Ray names."""
        self._paused = dict(paused)
        for worker_id, places in paused.items():
            self._before[worker_id] = places
        for worker_id in self._before.keys() - paused.keys() - self._sessions.keys():
            del self._before[worker_id]

    def set_sessions(self, sessions: Mapping[str, DebugSession]) -> None:
        """``sessions``: worker id -> the debugger session on it. Once attached it alone knows what is stopped there:
        Ray counts only who waits for a debugger."""
        self._sessions = sessions

    def _attached(self, worker_id: str) -> DebugSession | None:
        session = self._sessions.get(worker_id)
        return session if session is not None and session.state in ("running", "stopped") else None

    def _since(self, worker_id: str, thread: DebugThread) -> int:
        """Since when a thread of a session is stopped. The stop with which attaching began is older than that."""
        before, session = self._before.get(worker_id), self._sessions[worker_id]
        since_ns = thread.since_ns or session.attached_ns
        attached_to = thread.first and since_ns - session.attached_ns < _ATTACH_NS
        return before.since_ns if before is not None and attached_to else since_ns

    def _paused_since(self, worker_id: str | None) -> int | None:
        """Since when a worker or driver is paused, at the longest; None: it isn't."""
        if worker_id is None:
            return None
        if (session := self._attached(worker_id)) is not None:
            return min((self._since(worker_id, one) for one in session.threads if one.state == "stopped"), default=None)
        paused = self._paused.get(worker_id)
        return paused.since_ns if paused else None

    def nodes_with_paused(self) -> set[str]:
        """The nodes on which somebody waits for a debugger."""
        return {places.worker.node_id for places in self._paused.values() if places.worker.pid}

    def job_of_process(self, node_id: str, pid: int) -> str | None:
        """The job that a process works for: of an actor, a driver, or a worker that runs its tasks.

        Numbers of processes come again: what lives goes before what has ended.
        """
        found = [(actor.state != "DEAD", actor.job_id) for actor in self._actors_by_pid.get((node_id, pid), ())]
        ips = {node.ip for node in self._facts.nodes if node.node_id == node_id}
        drivers = (job for job in self._facts.jobs if job.driver_pid == pid and job.driver_ip in ips)
        found += [(not job.ended, job.job_id) for job in drivers]
        for stat in self._stats.values():
            if stat.job_id and (stat.node_id, stat.pid) == (node_id, pid):
                found.append((True, stat.job_id))
        return max(found, key=lambda one: one[0])[1] if found else None

    def pids_by_node(self) -> dict[str, list[int]]:
        """The processes whose titles are of use, by node: actors that live, and paused workers."""
        pids: dict[str, set[int]] = defaultdict(set)
        for actor in self._facts.actors:
            if actor.state == "ALIVE" and actor.pid and actor.node_id:
                pids[actor.node_id].add(actor.pid)
        for places in self._paused.values():
            pids[places.worker.node_id].add(places.worker.pid)
        for session in self._sessions.values():
            pids[session.node_id].add(session.pid)
        return {node_id: sorted(found) for node_id, found in pids.items()}

    def refresh(self) -> None:
        """Recompute the tables from the facts as they are now."""
        jobs = _shown_jobs(self._facts.jobs)
        shown = {job.job_id for job in jobs}
        actors = [actor for actor in self._facts.actors if actor.job_id in shown]
        parents = {actor.actor_id: self._lineage.parent(actor) for actor in actors}
        grouping = groups.group_actors(actors, parents, self._methods)
        kept, clipped = _kept_actors(grouping)
        rows = {actor.actor_id: self._actor_row(actor, group, parents) for actor, group in kept}
        self.store.replace("nodes", self._node_rows())
        self.store.replace(
            "jobs", {job.job_id: self._job_row(job, clipped.get(job.job_id, 0)) for job in reversed(jobs)}
        )
        self.store.replace("groups", grouping.groups)
        self.store.replace("actors", rows)
        self.store.replace("paused", sites.make_sites(self._paused_threads(rows, grouping.groups)))

    def _node_rows(self) -> dict[str, Node]:
        rows = {}
        for node in self._facts.nodes:
            helper, note = self._helpers.get(node.node_id, ("connecting", None))
            rows[node.node_id] = Node(
                node_id=node.node_id,
                ip=node.ip,
                hostname=node.hostname,
                alive=node.alive,
                is_head=node.is_head,
                helper=helper if node.alive else "missing",
                helper_note=note if node.alive else "the node is gone",
                start_ns=node.start_ns,
                end_ns=node.end_ns,
                death_cause=node.death_cause,
                cpus=node.cpus,
                gpus=node.gpus,
            )
        return rows

    def _job_row(self, job: JobFact, clipped: int) -> Job:
        worker_id = job.driver_worker_id
        stat = self._stats.get(worker_id or "")
        driver = Driver(
            worker_id=worker_id,
            pid=job.driver_pid,
            node_id=node_of_ip(job.driver_ip, self._facts.nodes),
            ip=job.driver_ip,
            state="dead" if job.ended else None,
            since_ns=job.end_ns if job.ended else None,
        )
        return Job(
            job_id=job.job_id,
            entrypoint=job.entrypoint,
            state="finished" if job.ended else "running",
            start_ns=job.start_ns,
            end_ns=job.end_ns,
            driver=doing.driver_doing(driver, stat, self._paused_since(worker_id)),
            submission_id=job.submission_id,
            clipped_actors=clipped,
        )

    def _actor_row(self, fact: ActorFact, group: Group | None, parents: Mapping[str, str | None]) -> Actor:
        title = self._titles.get((fact.node_id or "", fact.pid or 0))
        stat = self._stats.get(fact.worker_id or "")
        now = doing.actor_doing(fact, title, stat, self._paused_since(fact.worker_id))
        if group and group.kind == "ray_train" and now.state == "idle":
            # Ray Train runs the training function in a thread of its own while no method runs.
            now = now._replace(state=None, since_ns=None)
        role, task_name = self._role(fact, group, now.method)
        return Actor(
            actor_id=fact.actor_id,
            job_id=fact.job_id,
            group_id=group.group_id if group else None,
            parent_actor_id=parents.get(fact.actor_id),
            name=fact.name,
            class_name=fact.class_name,
            rank=groups.declared_rank(fact) if group else None,
            role=role,
            worker_id=fact.worker_id,
            pid=fact.pid,
            node_id=fact.node_id,
            state=now.state,
            task_name=task_name,
            since_ns=now.since_ns,
            restarts=fact.restarts,
            death_cause=fact.death_cause,
            death_kind=fact.death_kind,
            detached=fact.detached,
            namespace=fact.namespace,
            parent_task=self._lineage.made_by_task(fact),
            methods_running=now.running,
            start_ns=fact.start_ns,
            end_ns=fact.end_ns,
        )

    def _role(self, fact: ActorFact, group: Group | None, method: str | None) -> tuple[str | None, str | None]:
        roles = sorted(group.roles, key=len, reverse=True) if group else []
        role, task_name = groups.split_role(method, roles) if method else (None, method)
        if role:
            self._roles[fact.actor_id] = role
        elif len(roles) == 1:
            role = roles[0]
        return role or self._roles.get(fact.actor_id), task_name

    def _paused_threads(
        self, actors: Mapping[str, Actor], grouping: Mapping[str, Group]
    ) -> list[tuple[sites.Place, PausedThread]]:
        by_worker = {actor.worker_id: actor for actor in actors.values() if actor.worker_id}
        drivers = {job.driver_worker_id: job.job_id for job in self._facts.jobs}
        # The GCS goes on calling the workers of a lost node alive and paused.
        lost = {node.node_id for node in self._facts.nodes if not node.alive}
        found = []
        for worker_id, stops in self._stops().items():
            if stops.node_id in lost:
                continue
            actor = by_worker.get(worker_id)
            group = grouping.get(actor.group_id) if actor and actor.group_id else None
            title = self._titles.get((stops.node_id, stops.pid))
            stat = self._stats.get(worker_id)
            method = doing.method_in_title(title.title, ()) if title and not actor and not stops.is_driver else None
            for place, session_thread in stops.places:
                thread = PausedThread(
                    worker_id=worker_id,
                    thread_id=place.thread_id,
                    thread_name=place.thread_name,
                    worker_type="driver" if stops.is_driver else "worker",
                    actor_id=actor.actor_id if actor else None,
                    task_id=session_thread.task_id if session_thread else stops.task_id,
                    candidate_task_ids=self.tasks_of_worker(worker_id),
                    task_name=actor.task_name if actor else method or None,
                    job_id=actor.job_id
                    if actor
                    else drivers.get(worker_id) or stops.job_id or (stat.job_id if stat else None),
                    group=group.name if group else None,
                    group_id=group.group_id if group else None,
                    rank=actor.rank if actor else None,
                    node_id=stops.node_id,
                    pid=stops.pid,
                    since_ns=self._since(worker_id, session_thread) if session_thread else stops.since_ns,
                    attached=session_thread is not None,
                    session_thread_id=session_thread.threadId if session_thread else None,
                    reason=session_thread.reason if session_thread else None,
                )
                found.append((place, thread))
        return found

    def _stops(self) -> dict[str, _Stops]:
        """The stopped threads of each worker and driver: as the session on it knows them, else as Ray counts them."""
        stops = {
            worker_id: _Stops(
                node_id=paused.worker.node_id,
                pid=paused.worker.pid,
                is_driver=paused.worker.is_driver,
                job_id=paused.job_id,
                task_id=paused.task_id,
                since_ns=paused.since_ns,
                places=[(place, None) for place in paused.places],
            )
            for worker_id, paused in self._paused.items()
            if self._attached(worker_id) is None
        }
        for worker_id in self._sessions:
            session = self._attached(worker_id)
            places: list[tuple[sites.Place, DebugThread | None]] = []
            before = self._before.get(worker_id)
            for thread in session.threads if session is not None else []:
                if thread.state == "stopped":
                    places.append((sites.place_of_session(thread, before.places if before else ()), thread))
            if session is not None and places:
                stops[worker_id] = _Stops(
                    node_id=session.node_id,
                    pid=session.pid,
                    is_driver=session.worker_type == "driver",
                    job_id=session.job_id,
                    task_id=None,
                    since_ns=session.attached_ns,
                    places=places,
                )
        return stops


class _Stops(msgspec.Struct, frozen=True, kw_only=True):
    node_id: str
    pid: int
    is_driver: bool
    job_id: str | None
    task_id: str | None
    since_ns: int
    places: list[tuple[sites.Place, DebugThread | None]]


def _shown_jobs(jobs: Iterable[JobFact]) -> list[JobFact]:
    """All that run, and those that ended last; newest first."""
    jobs = sorted(jobs, key=lambda job: (job.start_ns or 0, job.job_id), reverse=True)
    ended = [job.job_id for job in jobs if job.ended]
    dropped = set(ended[MAX_ENDED_JOBS:])
    return [job for job in jobs if job.job_id not in dropped]


def _kept_actors(grouping: groups.Grouping) -> tuple[list[tuple[ActorFact, Group | None]], dict[str, int]]:
    """Actors with their groups, without the dead ones of long ago; and how many of each job were left out."""
    kept: list[tuple[ActorFact, Group | None]] = [
        (actor, grouping.groups[group_id]) for group_id, members in grouping.members.items() for actor in members
    ]
    single: dict[str, list[ActorFact]] = defaultdict(list)
    for actor in grouping.single:
        single[actor.job_id].append(actor)
    clipped = {}
    for job_id, found in single.items():
        shown, clipped[job_id] = groups.clip_dead(found, MAX_DEAD_ACTORS)
        kept.extend((actor, None) for actor in shown)
    return kept, clipped
