"""The lanes: each attempt lies on one leaf (a rank, an actor, a worker, a driver); others are sums of leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from raydebug.api.task_facts import DRIVER_TASK, NORMAL_TASK
from raydebug.api.timeline import Lane, LaneKind
from raydebug.api.topology import Actor, Group
from raydebug.hub.model.groups import split_role
from raydebug.hub.model.timeline.intern import Interner
from raydebug.hub.model.timeline.states import FAILS
from raydebug.hub.model.timeline.store import Call, TaskStore, Worker

MAX_LANES: Final = 4096
"""Leaves of a job that are listed: those with the newest tasks."""

Codes = npt.NDArray[np.uint32]


class Leaf(NamedTuple):
    kind: LaneKind
    job_id: str
    lane_id: str
    group_id: str | None = None
    role: str | None = None
    actor_id: str | None = None
    worker_id: str | None = None
    node_id: str | None = None


class Tree(msgspec.Struct, frozen=True):
    """``leaves``: lane id -> the leaves it shows; more than one, or a sum by nature: ``sums`` has it."""

    lanes: dict[str, Lane]
    leaves: dict[str, list[int]]
    sums: frozenset[str]
    clipped: dict[str, int]


EMPTY: Final = Tree({}, {}, frozenset(), {})


def method_of(name: str, type_: int) -> str:
    """``WorkerDict.actor_update`` -> ``actor_update``; of normal tasks, and of names that users gave, all of it."""
    if type_ == NORMAL_TASK:
        return name
    return name.rpartition(".")[2] or name


class Lanes:
    """Which leaf each call and worker lies on, as far as the cluster's rows say so now."""

    def __init__(self, store: TaskStore) -> None:
        self._store: Final = store
        self._leaves: Final = Interner(Leaf("pending", "", ""))
        self._names: Final = Interner("")
        self._actors: Mapping[str, Actor] = {}
        self._membership: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._group_order: dict[str, int] = {}
        self._of_call: list[int] = []
        self._of_worker: list[int] = []
        self._name_of_call: list[int] = []
        self._normal: list[bool] = []
        self._pending: list[int] = []

    @property
    def leaves(self) -> Sequence[Leaf]:
        return self._leaves.values

    @property
    def names(self) -> Sequence[str]:
        """Methods' names without their role's prefix, by the codes of :meth:`name_codes`."""
        return self._names.values

    def name_codes(self) -> Codes:
        """Call code -> name code."""
        return np.array(self._name_of_call, np.uint32)

    def learn(self, actors: Mapping[str, Actor], groups: Mapping[str, Group]) -> bool:
        """Take the cluster's rows; True if an attempt may lie on another leaf than before: then place all anew."""
        self._actors = actors
        roles = {key: sorted(group.roles, key=len, reverse=True) for key, group in groups.items()}
        membership = {
            key: (actor.group_id, tuple(roles.get(actor.group_id, ())))
            for key, actor in actors.items()
            if actor.group_id is not None
        }
        if membership == self._membership:
            return False
        self._membership = membership
        self._of_call.clear()
        self._name_of_call.clear()
        self._normal.clear()
        self._pending.clear()
        return True

    def place(self, rows: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
        """Write the leaf of these rows (None: of all) into the column; the leaves touched, old and new ones."""
        self._extend()
        columns = self._store.columns
        which: npt.NDArray[np.int64] = np.arange(columns.count) if rows is None else rows
        calls, workers = columns.call[which], columns.worker[which]
        normal = np.array(self._normal)[calls]
        by_worker = np.where(workers > 0, np.array(self._of_worker)[workers], np.array(self._pending)[calls])
        after = np.where(normal, by_worker, np.array(self._of_call)[calls])
        before = columns.leaf[which]
        columns.leaf[which] = after
        touched: npt.NDArray[np.int64] = np.union1d(before, after).astype(np.int64)
        return touched

    def _extend(self) -> None:
        """Leaves of the calls and workers that are new."""
        for call in self._store.calls.values[len(self._of_call) :]:
            job_id = call.job_id.hex()
            leaf, name = self._leaf_of_call(call)
            self._of_call.append(self._leaves.code(leaf))
            self._name_of_call.append(self._names.code(name))
            self._normal.append(call.type == NORMAL_TASK)
            self._pending.append(self._leaves.code(Leaf("pending", job_id, f"pending:{job_id}")))
        for at in range(len(self._of_worker), len(self._store.workers)):
            self._of_worker.append(self._leaves.code(self._leaf_of_worker(self._store.workers.values[at], at)))

    def _leaf_of_call(self, call: Call) -> tuple[Leaf, str]:
        job_id = call.job_id.hex()
        method = method_of(call.name, call.type)
        if call.type == DRIVER_TASK:
            return Leaf("driver", job_id, f"driver:{job_id}"), method or "driver"
        actor_id = call.actor_id.hex()
        group_id, roles = self._membership.get(actor_id, (None, ()))
        if group_id is None:
            return Leaf("actor", job_id, f"actor:{actor_id}", actor_id=actor_id), method
        role, method = split_role(method, roles)
        if len(roles) < 2:
            return Leaf("rank", job_id, f"rank:{actor_id}", group_id, None, actor_id), method
        return Leaf("rank", job_id, f"rank:{actor_id}/{role or ''}", group_id, role or "", actor_id), method

    def _leaf_of_worker(self, worker: Worker, code: int) -> Leaf:
        job_id, worker_id = worker.job_id.hex(), worker.worker_id.hex()
        node_id = self._store.worker_node[code].hex() or None
        return Leaf("worker", job_id, f"worker:{job_id}/{worker_id}", None, None, None, worker_id, node_id)

    # The table ---------------------------------------------------------------------------------------------------

    def tree(self, groups: Mapping[str, Group], node_names: Mapping[str, str]) -> Tree:
        """All lanes that hold attempts, and those above them."""
        columns = self._store.columns
        size = len(self._leaves)
        tasks = np.bincount(columns.leaf, minlength=size)
        failed = np.bincount(columns.leaf[columns.rank == FAILS], minlength=size)
        by_job: dict[str, list[int]] = defaultdict(list)
        for leaf in np.flatnonzero(tasks).tolist():
            by_job[self.leaves[leaf].job_id].append(leaf)
        self._group_order = {group_id: at for at, group_id in enumerate(sorted(groups))}
        tree = Tree({}, {}, frozenset(), {})
        sums: set[str] = set()
        for job_id, found in by_job.items():
            if len(found) > MAX_LANES:
                tree.clipped[job_id] = len(found) - MAX_LANES
                found = sorted(found[-MAX_LANES:])
            for leaf in found:
                self._add(tree, sums, leaf, int(tasks[leaf]), int(failed[leaf]), groups, node_names)
        return Tree(tree.lanes, tree.leaves, frozenset(sums), tree.clipped)

    def _add(
        self,
        tree: Tree,
        sums: set[str],
        code: int,
        tasks: int,
        failed: int,
        groups: Mapping[str, Group],
        node_names: Mapping[str, str],
    ) -> None:
        leaf = self.leaves[code]
        above: list[Lane] = []
        actor = self._actors.get(leaf.actor_id or "")
        rank = actor.rank if actor else None
        own: dict[str, Any] = {"tasks": tasks, "failed": failed, "job_id": leaf.job_id}
        if leaf.kind == "rank" and leaf.group_id:
            group = groups.get(leaf.group_id)
            name = group.name if group else leaf.group_id
            order = 10 + self._group_order.get(leaf.group_id, 0)
            group_lane = f"group:{leaf.group_id}"
            above.append(
                Lane(lane_id=group_lane, kind="group", label=name, parent_lane_id=None, order=order,
                     group_id=leaf.group_id, **own)
            )  # fmt: skip
            if leaf.role is not None:
                roles = sorted(group.roles) if group else []
                above.append(
                    Lane(lane_id=f"role:{leaf.group_id}/{leaf.role}", kind="role", label=leaf.role or "(no role)",
                         parent_lane_id=group_lane, order=roles.index(leaf.role) if leaf.role in roles else 999,
                         group_id=leaf.group_id, role=leaf.role, **own)
                )  # fmt: skip
            label = f"rank {rank}" if rank is not None else (actor.name if actor else None) or f"actor {leaf.actor_id}"
        elif leaf.kind == "actor":
            label = (actor.name or actor.class_name if actor else None) or f"actor {(leaf.actor_id or '')[:8]}"
        elif leaf.kind == "worker":
            node_id = leaf.node_id or ""
            above.append(
                Lane(lane_id=f"node:{leaf.job_id}/{node_id}", kind="node", parent_lane_id=None, order=1_000_000,
                     label=node_names.get(node_id, node_id[:8] or "?"), node_id=leaf.node_id, **own)
            )  # fmt: skip
            pid = self._store.worker_pid[self._worker_code(leaf)]
            label = f"worker {pid or (leaf.worker_id or '')[:8]}"
        else:
            label = "Driver" if leaf.kind == "driver" else "not placed yet"
        order = {"driver": 0, "actor": 5, "pending": 2_000_000}.get(leaf.kind, rank if rank is not None else code)
        lane = Lane(
            lane_id=leaf.lane_id, kind=leaf.kind, label=label, order=order, role=leaf.role, rank=rank,
            parent_lane_id=above[-1].lane_id if above else None, group_id=leaf.group_id, actor_id=leaf.actor_id,
            worker_id=leaf.worker_id or (actor.worker_id if actor else None),
            node_id=leaf.node_id or (actor.node_id if actor else None), **own,
        )  # fmt: skip
        for upper in above:
            sums.add(upper.lane_id)
        for one in (*above, lane):
            known = tree.lanes.get(one.lane_id)
            if known is not None:
                one = msgspec.structs.replace(known, tasks=known.tasks + tasks, failed=known.failed + failed)
            tree.lanes[one.lane_id] = one
            tree.leaves.setdefault(one.lane_id, []).append(code)

    def _worker_code(self, leaf: Leaf) -> int:
        worker = Worker(bytes.fromhex(leaf.worker_id or ""), bytes.fromhex(leaf.job_id))
        return self._store.workers.find(worker) or 0
