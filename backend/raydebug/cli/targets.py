"""Whom TARGET means: a worker id prefix, ``GROUP:RANK``, ``GROUP``, ``site:ID`` or ``all-paused``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from raydebug.api.debug import DebugSession
from raydebug.api.paused import PausedSite, PausedThread
from raydebug.api.topology import Actor, Group, Job

from .errors import CommandError
from .words import clean, count, span

ALL_PAUSED: Final = "all-paused"
SITE: Final = "site:"
_GONE: Final = ("dead", "failed")
_MOST_LISTED: Final = 12
_SHORT: Final = 4
"""A prefix of fewer characters is more likely a misspelt name."""


class NothingFoundError(CommandError):
    """Nobody is meant by it (exit code 1)."""


class AmbiguousError(CommandError):
    """More than one thing is meant by it."""

    exit_code = 2


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What the hub knows: rows of its tables."""

    actors: list[Actor] = []
    groups: list[Group] = []
    jobs: list[Job] = []
    sites: list[PausedSite] = []
    sessions: list[DebugSession] = []

    @staticmethod
    def of(tables: Mapping[str, Mapping[str, Any]]) -> Known:
        def rows(name: str) -> list[Any]:
            return list(tables.get(name, {}).values())

        return Known(
            actors=rows("actors"),
            groups=rows("groups"),
            jobs=rows("jobs"),
            sites=rows("paused"),
            sessions=rows("sessions"),
        )


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A worker or driver that is meant. ``paused``: how many of its threads stand, as far as the hub knows.

    ``site``: the id of the place whose threads are meant; None: all that stand.
    """

    worker_id: str
    label: str
    group: str | None = None
    rank: int | None = None
    paused: int = 0
    site: str | None = None


def resolve(target: str, known: Known) -> list[Chosen]:
    """Those who are meant, by group and rank. Raises NothingFoundError, AmbiguousError."""
    target = target.strip()
    if not target:
        raise AmbiguousError("TARGET is empty.", _SHAPES)
    return sorted(_found(target, known), key=lambda one: (one.group or "~", _rank(one), one.label, one.worker_id))


def resolve_one(target: str, known: Known) -> Chosen:
    """As :func:`resolve`, for what takes a single worker."""
    found = resolve(target, known)
    if len(found) > 1:
        lines = [f"  {clean(one.label)}  {one.worker_id[:12]}" for one in found]
        raise AmbiguousError(f"{clean(target)} means {len(found)} workers; name one of them:", _clipped(lines))
    return found[0]


_SHAPES: Final = "TARGET: a worker id prefix, GROUP:RANK, GROUP, site:ID or all-paused."


def _rank(one: Chosen) -> int:
    return one.rank if one.rank is not None else 2**31


def _found(target: str, known: Known) -> list[Chosen]:
    if target == ALL_PAUSED:
        found = _choose((m.worker_id for site in known.sites for m in site.members), known)
        if not found:
            raise NothingFoundError("Nothing is paused.", _attached(known))
        return found
    if target.startswith(SITE):
        return _at_site(target.removeprefix(SITE), known)
    if groups := _groups(target, known):
        return _of_group(target, groups, known)
    name, colon, rank = target.rpartition(":")
    if colon and rank.isdecimal() and (groups := _groups(name, known)):
        return _of_rank(name, int(rank), groups, known)
    return _by_prefix(target, known)


def _attached(known: Known) -> str:
    """They are no part of all-paused, and somebody who wants to be rid of them must know what they are called."""
    found = _choose((one.worker_id for one in known.sessions if one.state not in ("ended", "failed")), known)
    if not found:
        return ""
    lines = [f"  {clean(one.label)}  {one.worker_id[:12]}" for one in found]
    return "Attached and running (`raydebug continue --detach TARGET` detaches):\n" + _clipped(lines)


def _at_site(text: str, known: Known) -> list[Chosen]:
    sites = [site for site in known.sites if text and site.site_id.startswith(text)]
    if not sites:
        raise NothingFoundError(f"No paused place is {SITE}{clean(text)}.", _what_there_is(known))
    if len(sites) > 1:
        raise AmbiguousError(f"{SITE}{clean(text)} is the beginning of several:", _clipped(_site_lines(sites)))
    site = sites[0]
    # A place that isn't known before attaching is another afterwards.
    meant = site.site_id if site.file is not None else None
    chosen = _choose((member.worker_id for member in site.members), known)
    return [msgspec.structs.replace(one, site=meant) for one in chosen]


def _groups(name: str, known: Known) -> list[Group]:
    """Those of this name that have a rank left, else those of the name at all; by id, too."""
    found = [group for group in known.groups if name in (group.name, group.group_id)]
    alive = {actor.group_id for actor in known.actors if actor.state not in _GONE}
    return [group for group in found if group.group_id in alive] or found


def _the_group(name: str, groups: list[Group]) -> Group:
    if len(groups) > 1:
        lines = [f"  {clean(group.group_id)}  of job {group.job_id}" for group in groups]
        raise AmbiguousError(f"There are {len(groups)} groups {clean(name)}; name one by its id:", _clipped(lines))
    return groups[0]


def _of_group(name: str, groups: list[Group], known: Known) -> list[Chosen]:
    group = _the_group(name, groups)
    members = [actor for actor in known.actors if actor.group_id == group.group_id]
    alive = [actor.worker_id for actor in members if actor.state not in _GONE and actor.worker_id]
    if not alive:
        raise NothingFoundError(f"No rank of {clean(group.name)} is alive.", _what_there_is(known))
    return _choose(alive, known)


def _of_rank(name: str, rank: int, groups: list[Group], known: Known) -> list[Chosen]:
    group = _the_group(name, groups)
    members = [actor for actor in known.actors if actor.group_id == group.group_id]
    of_rank = [actor for actor in members if actor.rank == rank]
    alive = [actor.worker_id for actor in of_rank if actor.state not in _GONE and actor.worker_id]
    if alive:
        return _choose(alive, known)
    if of_rank:
        raise NothingFoundError(f"Rank {rank} of {clean(group.name)} is {of_rank[-1].state}.", _what_there_is(known))
    ranks = [actor.rank for actor in members if actor.rank is not None]
    there = f"it has {span(ranks)}" if ranks else "the ranks of its members aren't known"
    raise NothingFoundError(f"{clean(group.name)} has no rank {rank}; {there}.")


def _by_prefix(text: str, known: Known) -> list[Chosen]:
    wanted = text.lower()
    found: dict[str, None] = {}
    for worker_id in _workers(known):
        if worker_id.startswith(wanted):
            found[worker_id] = None
    for actor in known.actors:
        # `raydebug paused` names an actor in no group by its actor id.
        if actor.actor_id.startswith(wanted) and actor.worker_id and actor.state not in _GONE:
            found[actor.worker_id] = None
    if not found or (len(wanted) < _SHORT and wanted not in found):
        raise NothingFoundError(f"No worker, group or driver is called {clean(text)[:100]}.", _what_there_is(known))
    chosen = _choose(found, known)
    if len(chosen) > 1:
        lines = [f"  {one.worker_id[:16]}  {clean(one.label)}" for one in chosen]
        raise AmbiguousError(f"{clean(text)} is the beginning of {len(chosen)} worker ids:", _clipped(lines))
    return chosen


def _workers(known: Known) -> Iterator[str]:
    for actor in known.actors:
        if actor.worker_id and actor.state not in _GONE:
            yield actor.worker_id
    for job in known.jobs:
        if job.driver.worker_id and job.state == "running":
            yield job.driver.worker_id
    for site in known.sites:
        yield from (member.worker_id for member in site.members)
    for session in known.sessions:
        if session.state not in ("ended", "failed"):
            yield session.worker_id


def _choose(worker_ids: Iterable[str], known: Known) -> list[Chosen]:
    """Each once, with what it is called."""
    standing = Counter(member.worker_id for site in known.sites for member in site.members)
    actors = {actor.worker_id: actor for actor in known.actors if actor.worker_id}
    groups = {group.group_id: group.name for group in known.groups}
    drivers = {job.driver.worker_id: job.job_id for job in known.jobs if job.driver.worker_id}
    members = {member.worker_id: member for site in known.sites for member in site.members}
    chosen = []
    for worker_id in dict.fromkeys(worker_ids):
        actor, member = actors.get(worker_id), members.get(worker_id)
        group = groups.get(actor.group_id or "") if actor else member.group if member else None
        rank = actor.rank if actor else member.rank if member else None
        chosen.append(
            Chosen(
                worker_id=worker_id,
                label=_label(worker_id, group, rank, actor, member, drivers.get(worker_id)),
                group=group,
                rank=rank,
                paused=standing[worker_id],
            )
        )
    return chosen


def _label(
    worker_id: str,
    group: str | None,
    rank: int | None,
    actor: Actor | None,
    member: PausedThread | None,
    driver_of: str | None,
) -> str:
    if group is not None and rank is not None:
        return f"{group}:{rank}"
    if driver_of is not None or (member is not None and member.worker_type == "driver"):
        job_id = driver_of or (member.job_id if member else None)
        return f"driver of job {job_id}" if job_id else "driver"
    if actor is not None:
        return f"{actor.name or actor.class_name} {actor.actor_id[:8]}"
    return f"worker {worker_id[:8]}"


# What there is, for those who asked for something else -------------------------------------------------------------


def _what_there_is(known: Known) -> str:
    lines = []
    for group in known.groups:
        members = [actor for actor in known.actors if actor.group_id == group.group_id and actor.state not in _GONE]
        ranks = [actor.rank for actor in members if actor.rank is not None]
        if members:
            lines.append(
                f"  {clean(group.name)}  " + (f"ranks {span(ranks)}" if ranks else count(len(members), "member"))
            )
    lines += _site_lines(known.sites)
    if not lines:
        return "There is no group, and nothing is paused: see `raydebug ps`."
    return "There is:\n" + _clipped(lines) + "\nMore: `raydebug ps`, `raydebug paused`."


def _site_lines(sites: Iterable[PausedSite]) -> list[str]:
    return [
        f"  {SITE}{site.site_id}  {clean(site.file or 'place unknown')}"
        + (f":{site.line}" if site.line is not None else "")
        + f"  {count(len(site.members), 'thread')}"
        for site in sites
    ]


def _clipped(lines: list[str]) -> str:
    shown = lines[:_MOST_LISTED]
    if len(lines) > len(shown):
        shown.append(f"  and {len(lines) - len(shown)} more")
    return "\n".join(shown)
