"""The timeline of a cluster: what sources bring, the tables that it makes of it, the queries that it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec
import numpy as np

from raydebug.api.paused import PausedSite
from raydebug.api.stream import QueryTasks, QueryTimeline
from raydebug.api.task_facts import TaskBatch
from raydebug.api.timeline import Dropped, Marks, Step, Tasks, TaskSource, Timeline, TimelineJob
from raydebug.api.topology import Actor, Group, Job, Node
from raydebug.hub.model.store import Store
from raydebug.hub.model.timeline import as_json, find
from raydebug.hub.model.timeline import marks as windows
from raydebug.hub.model.timeline.columns import UNKNOWN, Int64s, Mask
from raydebug.hub.model.timeline.cycles import Calls
from raydebug.hub.model.timeline.lanes import EMPTY, Lanes, Tree
from raydebug.hub.model.timeline.pauses import Pauses
from raydebug.hub.model.timeline.states import ENDED, FAILS, RUNS
from raydebug.hub.model.timeline.steps import Steps
from raydebug.hub.model.timeline.store import DEFAULT_CAP, TaskStore
from raydebug.hub.model.views import Sight

_STEPS_EVERY_NS: Final = 500_000_000
_DECLARED: Final = -2
_MOST_LOST: Final = 100_000
_JSON_LANES: Final = 2048


class Origin(NamedTuple):
    """How the tasks come. ``agent``: events lost in agents' and helpers' queues, None without push."""

    source: TaskSource = "pull"
    fresh_ns: int | None = None
    period_ns: int | None = None
    ray: int | None = None
    agent: int | None = None
    truncated: int = 0
    note: str | None = None


class TaskTimeline:
    """Sources call ``apply`` and ``told``; somebody calls ``refresh`` soon after; viewers ask ``marks`` and
    ``tasks``."""

    def __init__(self, tables: Store, cap: int = DEFAULT_CAP) -> None:
        self._tables: Final = tables
        self._store: Final = TaskStore(cap)
        self._lanes: Final = Lanes(self._store)
        self._pauses: Final = Pauses(self._store, self._lanes)
        self._steps: Final = Steps()
        self._origin = Origin()
        self._lost: set[tuple[bytes, int]] = set()
        """Attempts of which workers said that they dropped something."""
        self._tree: Tree = EMPTY
        self._leaf_versions = np.zeros(1, np.int64)
        self._job_versions: dict[str, int] = {}
        self._refreshed: tuple[Any, ...] = ()
        self._version = 1
        self._steps_at = 0
        self._steps_of = -1
        self._step_rows: dict[str, Step] = {}

    # What comes in -----------------------------------------------------------------------------------------------

    def apply(self, batch: TaskBatch) -> None:
        self._store.apply(batch)
        if len(self._lost) < _MOST_LOST:
            self._lost.update(batch.dropped)

    def told(self, origin: Origin) -> None:
        self._origin = origin

    @property
    def origin(self) -> Origin:
        return self._origin

    def declare_step(self, job_id: str, source: str, number: int, at_ns: int) -> None:
        """A process of a job, ``source``, said that a step begins."""
        self._steps.declare(job_id, source, number, at_ns)
        self._steps_of = _DECLARED

    @property
    def held(self) -> int:
        """Attempts held."""
        return self._store.columns.count

    @property
    def bytes(self) -> int:
        return self._store.columns.bytes

    def candidates(self, worker_id: str) -> list[str]:
        """The tasks that run in a worker now."""
        return self._pauses.candidates(worker_id)

    # The tables --------------------------------------------------------------------------------------------------

    def refresh(self, now_ns: int) -> None:
        """Bring the tables of topic ``timeline`` up to date; costs next to nothing where nothing changed."""
        table = self._tables.table
        actors = cast("Mapping[str, Actor]", table("actors"))
        groups = cast("Mapping[str, Group]", table("groups"))
        moved = self._lanes.learn(actors, groups)
        self._place(None if moved else self._take_changed())
        pauses = self._pauses.learn(cast("Mapping[str, PausedSite]", table("paused")), now_ns)
        if pauses != table("pauses"):
            self._touch_paused()
            self._tables.replace("pauses", dict(pauses))
        seen = (self._store.version, id(table("actors")), id(table("groups")), id(table("nodes")), id(table("jobs")))
        if seen != self._refreshed:
            self._refreshed = seen
            names = {key: _node_name(cast(Node, node)) for key, node in table("nodes").items()}
            self._tree = self._lanes.tree(groups, names)
            self._tables.replace("lanes", self._tree.lanes)
        self._refresh_steps(now_ns)
        self._tables.replace("timeline_jobs", self._job_rows())

    def _take_changed(self) -> Int64s:
        changed, self._store.changed_rows = self._store.changed_rows, []
        return np.unique(np.concatenate(changed)) if changed else np.zeros(0, np.int64)

    def _place(self, rows: Int64s | None) -> None:
        if rows is not None and rows.size == 0:
            return
        if rows is None:
            self._store.changed_rows = []
        self._touch(self._lanes.place(rows))

    def _touch(self, leaves: Int64s) -> None:
        """These leaves show something else from now on."""
        self._version += 1
        if len(self._leaf_versions) < len(self._lanes.leaves):
            grown = np.zeros(2 * len(self._lanes.leaves), np.int64)
            grown[: len(self._leaf_versions)] = self._leaf_versions
            self._leaf_versions = grown
        self._leaf_versions[leaves] = self._version
        for leaf in leaves.tolist():
            self._job_versions[self._lanes.leaves[leaf].job_id] = self._version

    def _touch_paused(self) -> None:
        leaves = np.unique(self._store.columns.leaf[self._pauses.held]).astype(np.int64)
        self._touch(leaves)

    def _refresh_steps(self, now_ns: int) -> None:
        if self._steps_of == self._store.version:
            return
        # What a job says itself is shown at once.
        if 0 <= now_ns - self._steps_at < _STEPS_EVERY_NS and self._steps_of != _DECLARED:
            return
        self._steps_at, self._steps_of = now_ns, self._store.version
        found: dict[str, Step] = {}
        jobs = cast("Mapping[str, Job]", self._tables.table("jobs"))
        self._steps.keep(jobs)
        for job_id in jobs:
            calls = None if self._steps.declares(job_id) else self._calls(job_id)
            rows = self._steps.rows(job_id, calls, lambda code: self._store.parents.values[code].hex())
            found |= {row.step_id: row for row in rows}
        self._step_rows = found
        self._tables.replace("steps", found)

    def _calls(self, job_id: str) -> Calls:
        """The calls of actors' methods in a job."""
        store, columns = self._store, self._store.columns
        job = bytes.fromhex(job_id)
        names = self._lanes.name_codes()
        groups: dict[str, int] = {}
        group, member = np.zeros(len(store.calls), np.int64), np.zeros(len(store.calls), np.int64)
        wanted = np.zeros(len(store.calls), np.bool_)
        members: dict[bytes, int] = {}
        actors = cast("Mapping[str, Actor]", self._tables.table("actors"))
        for code, call in enumerate(store.calls.values):
            if not call.actor_id or call.job_id != job or call.type != 2:
                continue
            wanted[code] = True
            actor = actors.get(call.actor_id.hex())
            belongs = (actor.group_id or actor.class_name) if actor else call.name.rpartition(".")[0]
            group[code] = groups.setdefault(belongs, len(groups))
            member[code] = members.setdefault(call.actor_id, len(members))
        rows = np.flatnonzero(wanted[columns.call] & (columns.submit != UNKNOWN) & (columns.attempt == 0))
        calls = columns.call[rows]
        return Calls(
            columns.parent[rows].astype(np.int64),
            columns.submit[rows],
            group[calls],
            names[calls].astype(np.int64),
            member[calls],
        )

    def _job_rows(self) -> dict[str, TimelineJob]:
        before = cast("Mapping[str, TimelineJob]", self._tables.table("timeline_jobs"))
        found = {}
        declared = {step.job_id: step.inferred for step in self._step_rows.values()}
        origin = self._origin
        common: dict[str, Any] = {
            "source": origin.source,
            # Told every 2 s: not each poll is news for every viewer.
            "fresh_ns": origin.fresh_ns and origin.fresh_ns // 2_000_000_000 * 2_000_000_000,
            "period_ns": origin.period_ns,
            "dropped": self._dropped(),
            "truncated": origin.truncated,
            "note": origin.note,
        }
        for job_id in self._tables.table("jobs"):
            old = before.get(job_id)
            version = self._job_versions.get(job_id, 0)
            inferred = declared.get(job_id)
            common["steps"] = None if inferred is None else "inferred" if inferred else "declared"
            common["clipped_lanes"] = self._tree.clipped.get(job_id, 0)
            if old is not None and old.version == version:
                found[job_id] = msgspec.structs.replace(old, **common)
            else:
                found[job_id] = TimelineJob(job_id=job_id, version=version, **self._counts(job_id), **common)
        return found

    def _dropped(self) -> Dropped:
        ray = self._origin.ray
        if self._lost:
            ray = max(ray or 0, len(self._lost))
        return Dropped(ray=ray, agent=self._origin.agent, hub=self._store.dropped)

    def _counts(self, job_id: str) -> dict[str, Any]:
        columns = self._store.columns
        rows = np.flatnonzero(self._of_jobs(frozenset({job_id}))[columns.call])
        rank = columns.rank[rows]
        begins = self._store.begins()[rows]
        begins = begins[begins > 0]
        ends = columns.end[rows]
        started = columns.start[rows]
        started = started[started != UNKNOWN]
        last = max(int(ends.max(initial=0)), int(started.max(initial=0)), int(begins.max(initial=0)))
        return {
            "total": len(rows),
            "running": int(((rank >= RUNS) & (rank < ENDED)).sum()),
            "pending": int((rank < RUNS).sum()),
            "failed": int((rank == FAILS).sum()),
            "first_ns": int(begins.min()) if begins.size else None,
            "last_ns": last or None,
        }

    # The queries -------------------------------------------------------------------------------------------------

    def marks(self, query: QueryTimeline, sight: Sight, now_ns: int) -> Marks:
        """Raises LookupError for a job or lane that isn't there or may not be seen, ValueError for what can't be."""
        self._require_job(query.job_id, sight)
        self._place(self._take_changed())
        window = windows.Window(query.from_ns, query.to_ns, query.pixels)
        windows.check(window, len(query.lanes))
        asked = []
        for lane_id in query.lanes:
            lane = self._tree.lanes.get(lane_id)
            if lane is None or lane.job_id != query.job_id:
                continue  # it was there when the client last heard: the table's next patch says that it is gone
            leaves = self._tree.leaves[lane_id]
            if int(self._leaf_versions[leaves].max()) > query.since:
                asked.append(windows.Asked(lane_id, leaves, lane_id in self._tree.sums))
        names = self._lanes.name_codes()
        ends = self._ends()
        return windows.marks(
            self._store, query.job_id, asked, window, names, self._lanes.names, ends, now_ns, self._version
        )

    def tasks(self, query: QueryTasks, sight: Sight, now_ns: int) -> Tasks:
        """Raises as :meth:`marks`."""
        self._place(self._take_changed())
        if query.job_id is not None:
            self._require_job(query.job_id, sight)
        jobs = self._of_jobs(sight.jobs if query.job_id is None else frozenset({query.job_id}))
        state = find.mark_states(self._store, self._pauses.held)
        rows = find.matching(self._store, self._lanes, self._tree, query, jobs, state)
        if query.task_id is not None and rows.size == 0:
            raise LookupError(f"no task {query.task_id} is held: it isn't known yet, or was let go")
        actors = cast("Mapping[str, Actor]", self._tables.table("actors"))
        shown = find.rows_to_tasks(self._store, self._lanes, rows[: query.limit], actors, sight.messages)
        origin = self._origin
        return Tasks(
            time_ns=now_ns,
            total=len(rows),
            dropped=self._dropped(),
            truncated=origin.truncated,
            source=origin.source,
            age_ns=now_ns - origin.fresh_ns if origin.fresh_ns else None,
            note=origin.note,
            tasks=shown,
        )

    def json(
        self, job_id: str, from_ns: int | None, to_ns: int | None, width: int, sight: Sight, now_ns: int
    ) -> Timeline:
        """``GET timeline``: all lanes of a job; by default all the time there is. Raises as :meth:`marks`."""
        self._require_job(job_id, sight)
        row = cast("Mapping[str, TimelineJob]", self._tables.table("timeline_jobs")).get(job_id)
        if row is None:
            raise LookupError(f"nothing is known of tasks of job {job_id} yet")
        begin = from_ns if from_ns is not None else row.first_ns or 0
        end = to_ns if to_ns is not None else max((row.last_ns or begin) + 1, now_ns if row.running else 0)
        lanes = [lane for lane in self._tree.lanes.values() if lane.job_id == job_id][:_JSON_LANES]
        query = QueryTimeline(
            id=0, job_id=job_id, lanes=[lane.lane_id for lane in lanes], from_ns=begin, to_ns=end, pixels=width
        )
        found = self.marks(query, sight, now_ns)
        own_steps = [step for step in self._step_rows.values() if step.job_id == job_id]
        pauses = [pause for pause in self._pauses.rows.values() if pause.job_id == job_id]
        return as_json.timeline(found, row, lanes, own_steps, pauses, now_ns)

    def _require_job(self, job_id: str, sight: Sight) -> None:
        known = self._tables.table("jobs")
        if job_id not in known or (sight.jobs is not None and job_id not in sight.jobs):
            raise LookupError(f"there is no job {job_id[:100]!r}")

    def _of_jobs(self, jobs: frozenset[str] | None) -> Mask:
        """Per call code: whether its job is one of these."""
        values = self._store.calls.values
        if jobs is None:
            return np.ones(len(values), np.bool_)
        wanted = {bytes.fromhex(job) for job in jobs if _is_hex(job)}
        return np.array([call.job_id in wanted for call in values], np.bool_)

    def _ends(self) -> windows.Ends:
        codes: dict[bytes, int] = {}
        values = self._store.calls.values
        job_of_call = np.array([codes.setdefault(call.job_id, len(codes)) for call in values], np.int64)
        jobs = cast("Mapping[str, Job]", self._tables.table("jobs"))
        ends = np.zeros(len(codes), np.int64)
        for job_id, code in codes.items():
            job = jobs.get(job_id.hex())
            ends[code] = (job.end_ns if job else None) or 0
        return windows.Ends(ends, job_of_call, self._pauses.held)


def _is_hex(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True


def _node_name(node: Node) -> str:
    return f"{node.hostname} ({node.ip})" if node.hostname else node.ip
