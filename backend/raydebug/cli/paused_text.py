"""The list of ``raydebug paused``: places, and who waits there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from raydebug.api.paused import Paused, PausedSite, PausedThread

from .screen import data, fit, row
from .words import age, clean, count, first_line

_KIND_STYLE = {"breakpoint": "bold magenta", "exception": "bold red", "legacy": "bold yellow"}


def paused_lines(paused: Paused, nodes: Mapping[str, str], width: int | None) -> list[Text]:
    """``nodes``: node id -> what people call it; an unknown one is shown by its id."""
    return fit(_lines(paused, nodes, width), width)


def _lines(paused: Paused, nodes: Mapping[str, str], width: int | None) -> Iterator[Text]:
    if not paused.sites:
        yield Text("nothing is paused")
        return
    threads = sum(len(site.members) for site in paused.sites)
    yield Text(f"{count(threads, 'thread')} paused at {count(len(paused.sites), 'place')}")
    jobs = {member.job_id for site in paused.sites for member in site.members}
    for site in sorted(paused.sites, key=lambda site: site.since_ns):
        yield Text("")
        yield from _site(site, paused.time_ns, width)
        for member in site.members:
            yield Text("  ") + _member(member, site, nodes, paused.time_ns, len(jobs) > 1)


def _why(site: PausedSite) -> str:
    """Why all stand there: a step may have ended where others wait at a breakpoint()."""
    reasons = {_reason(member, site) for member in site.members}
    return reasons.pop() if len(reasons) == 1 else site.kind


def _reason(member: PausedThread, site: PausedSite) -> str:
    return member.reason or site.kind if site.kind == "breakpoint" else site.kind


def _site(site: PausedSite, now_ns: int, width: int | None) -> Iterator[Text]:
    why = clean(_why(site))
    kind = Text(why, style=_KIND_STYLE.get(site.kind, ""))
    since = f"since {age(now_ns - site.since_ns)}"
    # What `raydebug attach` and `continue` take: never cut.
    target = data(f"site:{site.site_id}", "cyan")
    place = "place unknown"
    if site.file is not None:
        function = f" in {clean(site.function)}" if site.function else ""
        room = None if width is None else width - len(why) - len(function) - len(since) - 4
        place = _place(site, room) + function
    line = row(kind, Text(place), since)
    whole = row(line, target)
    if width is None or whole.cell_len <= width:
        yield whole
    else:
        yield line
        yield Text("  ") + target
    if site.exception:
        yield Text("  ") + data(first_line(site.exception), "red")
    if site.note:
        yield Text("  ") + data(site.note, "dim")


def _place(site: PausedSite, room: int | None) -> str:
    """``file:line``, its beginning left out where the terminal is too narrow: the end is what tells."""
    place = clean(site.file or "") + (f":{site.line}" if site.line is not None else "")
    if room is not None and len(place) > max(room, 24):
        place = "…" + place[-(max(room, 24) - 1) :]
    return place


def _member(member: PausedThread, site: PausedSite, nodes: Mapping[str, str], now_ns: int, jobs: bool) -> Text:
    if member.group is not None:
        who = data(f"{member.group}:{member.rank}" if member.rank is not None else member.group)
    elif member.worker_type == "driver":
        who = Text("driver")
    else:
        who = data(f"actor {member.actor_id[:8]}" if member.actor_id else f"worker {member.worker_id[:8]}")
    return row(
        who,
        data(nodes.get(member.node_id, member.node_id[:8])),
        f"pid {member.pid}",
        "(driver)" if member.worker_type == "driver" and member.group is not None else None,
        data(member.task_name) if member.task_name else None,
        data(f"thread {member.thread_name}") if member.thread_name not in (None, "MainThread") else None,
        age(now_ns - member.since_ns) if member.since_ns != site.since_ns else None,
        data(f"job {member.job_id}") if jobs and member.job_id else None,
        data(_reason(member, site)) if _reason(member, site) != _why(site) else None,
        Text("attached", style="green") if member.attached else None,
    )
