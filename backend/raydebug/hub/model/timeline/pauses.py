"""When which worker stood still: the open pauses and those that have ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np

from raydebug.api.paused import PausedSite, PausedThread
from raydebug.api.timeline import Pause
from raydebug.hub.model.timeline.columns import Int64s
from raydebug.hub.model.timeline.lanes import Lanes
from raydebug.hub.model.timeline.states import ENDED, RUNS
from raydebug.hub.model.timeline.store import TaskStore

MAX_ENDED: Final = 1000


class Pauses:
    def __init__(self, store: TaskStore, lanes: Lanes) -> None:
        self._store: Final = store
        self._lanes: Final = lanes
        self.rows: dict[str, Pause] = {}
        self.held: Int64s = np.zeros(0, np.int64)
        """Attempts that are known to stand still."""

    def learn(self, sites: Mapping[str, PausedSite], now_ns: int) -> dict[str, Pause]:
        """Take what is paused now; all pauses, ended ones too."""
        running = self._running({member.worker_id for site in sites.values() for member in site.members})
        rows: dict[str, Pause] = {}
        held: list[int] = []
        for site in sites.values():
            for member in site.members:
                if member.job_id is None:
                    continue
                key = f"{member.worker_id}/{site.site_id}/{member.since_ns}"
                mine = running.get(member.worker_id, [])
                if len(mine) == 1:
                    held += mine
                rows[key] = self._pause(key, site, member, mine)
        for key, pause in self.rows.items():
            if key not in rows:
                rows[key] = pause if pause.end_ns else msgspec.structs.replace(pause, end_ns=now_ns)
        ended = sorted((pause.end_ns, key) for key, pause in rows.items() if pause.end_ns)
        for _, key in ended[: max(0, len(ended) - MAX_ENDED)]:
            del rows[key]
        self.held = np.array(sorted(set(held)), np.int64)
        if rows != self.rows:
            self.rows = rows
        return self.rows

    def candidates(self, worker_id: str) -> list[str]:
        """The tasks that run in a worker."""
        return [self._store.columns.words[row].tobytes().hex() for row in self._running({worker_id}).get(worker_id, [])]

    def _running(self, worker_ids: set[str]) -> dict[str, list[int]]:
        columns = self._store.columns
        codes = {
            code: worker.worker_id.hex()
            for code, worker in enumerate(self._store.workers.values)
            if worker.worker_id.hex() in worker_ids
        }
        found: dict[str, list[int]] = defaultdict(list)
        if codes:
            runs = (columns.rank >= RUNS) & (columns.rank < ENDED) & (columns.exact == 0)
            for row in np.flatnonzero(runs & np.isin(columns.worker, list(codes))).tolist():
                found[codes[int(columns.worker[row])]].append(row)
        return found

    def _pause(self, key: str, site: PausedSite, member: PausedThread, rows: list[int]) -> Pause:
        columns = self._store.columns
        lanes = {self._lanes.leaves[leaf].lane_id for leaf in columns.leaf[rows].tolist()}
        if not lanes:
            lanes = {f"driver:{member.job_id}" if member.worker_type == "driver" else f"actor:{member.actor_id}"}
        return Pause(
            pause_id=key,
            job_id=member.job_id or "",
            worker_id=member.worker_id,
            lane_ids=sorted(lanes),
            site_id=site.site_id,
            file=site.file,
            line=site.line,
            start_ns=member.since_ns,
            end_ns=None,
            exact=len(rows) == 1,
            candidates=[columns.words[row].tobytes().hex() for row in rows[:64]],
        )
