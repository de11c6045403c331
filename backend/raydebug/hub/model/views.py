"""What callers get of the tables: rows of their jobs alone, and the nested answers for scripts. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from raydebug.api.paused import Paused, PausedSite
from raydebug.api.topology import Actor, Group, GroupView, Job, JobView, Node, SourceState, Topology
from raydebug.hub.model.store import Store, Table

Jobs = frozenset[str] | None
"""The jobs a caller may see; None: all."""


class Sight(NamedTuple):
    """What a caller sees of the tables. ``messages``: what exceptions say, too."""

    jobs: Jobs = None
    messages: bool = True


ALL: Final = Sight()

_MESSAGES: Final = {"actors": "death_cause", "paused": "message"}
"""Where user code's error messages stand."""

_OF_JOBS: Final = frozenset(
    {"jobs", "groups", "actors", "paused", "timeline_jobs", "lanes", "steps", "pauses", "sessions"}
)
"""Tables whose rows belong to jobs. Nodes and sources are everybody's."""

S = TypeVar("S", bound=msgspec.Struct)


def visible(name: str, table: Table, sight: Sight = ALL) -> Table:
    """The rows of table ``name`` as ``sight`` shows them; the same object where nothing is hidden."""
    table = _of_jobs(name, table, sight.jobs)
    column = None if sight.messages else _MESSAGES.get(name)
    if column is None:
        return table
    return {
        key: row if getattr(row, column) is None else msgspec.structs.replace(row, **{column: None})
        for key, row in table.items()
    }


def _of_jobs(name: str, table: Table, jobs: Jobs) -> Table:
    if jobs is None or name not in _OF_JOBS:
        return table
    if name == "paused":
        sites = {key: _site_of(cast(PausedSite, row), jobs) for key, row in table.items()}
        return {key: site for key, site in sites.items() if site is not None}
    return {key: row for key, row in table.items() if cast(Any, row).job_id in jobs}


def _site_of(site: PausedSite, jobs: frozenset[str]) -> PausedSite | None:
    members = [member for member in site.members if member.job_id in jobs]
    if len(members) == len(site.members):
        return site
    if not members:
        return None
    return msgspec.structs.replace(site, members=members, since_ns=min(member.since_ns for member in members))


def _rows(tables: Mapping[str, Table], name: str, kind: type[S], sight: Sight) -> list[S]:
    return cast("list[S]", list(visible(name, tables[name], sight).values()))


def _fields(row: msgspec.Struct) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


def _by_rank(actor: Actor) -> tuple[bool, int, str]:
    return actor.rank is None, actor.rank or 0, actor.actor_id


def topology(tables: Mapping[str, Table], now_ns: int, sight: Sight = ALL) -> Topology:
    """The tables of topic ``topology``, nested: job, its groups and their members by rank, the other actors."""
    groups = _rows(tables, "groups", Group, sight)
    known = {group.group_id for group in groups}
    members: dict[str, list[Actor]] = {}
    alone: dict[str, list[Actor]] = {}
    for actor in _rows(tables, "actors", Actor, sight):
        if actor.group_id is not None and actor.group_id in known:
            members.setdefault(actor.group_id, []).append(actor)
        else:
            alone.setdefault(actor.job_id, []).append(actor)
    views: dict[str, list[GroupView]] = {}
    for group in groups:
        ranks = sorted(members.get(group.group_id, ()), key=_by_rank)
        views.setdefault(group.job_id, []).append(GroupView(**_fields(group), members=ranks))
    return Topology(
        time_ns=now_ns,
        nodes=_rows(tables, "nodes", Node, sight),
        jobs=[
            JobView(**_fields(job), groups=views.get(job.job_id, []), actors=alone.get(job.job_id, []))
            for job in _rows(tables, "jobs", Job, sight)
        ],
        sources=_rows(tables, "sources", SourceState, sight),
    )


def paused(tables: Mapping[str, Table], now_ns: int, sight: Sight = ALL) -> Paused:
    """The paused sites, the one that waits longest first."""
    sites = _rows(tables, "paused", PausedSite, sight)
    return Paused(time_ns=now_ns, sites=sorted(sites, key=lambda site: (site.since_ns, site.site_id)))


def set_source(store: Store, state: SourceState) -> None:
    """Put one row into table ``sources`` and leave the others."""
    store.replace("sources", {**store.table("sources"), state.name: state})
