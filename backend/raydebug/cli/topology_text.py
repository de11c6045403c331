"""The tree of ``raydebug ps``: nodes, then job -> driver -> actors and groups -> ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.text import Text

from raydebug.api.topology import Actor, GroupView, JobView, Node, Topology

from .screen import STATE_STYLE, data, fit, row, shorten, state_text
from .words import age, clean, count, first_line, span

_FEW_RANKS = 4
_FEW_ACTORS = 8
_FINISHED_JOBS = 5
_STATES = list(STATE_STYLE)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What to show. ``width`` None: unlimited. ``ranks``: every rank on a line of its own."""

    width: int | None
    ranks: bool = False
    utf8: bool = True


def topology_lines(topology: Topology, view: View) -> list[Text]:
    return fit(_lines(topology, view), view.width)


def _lines(topology: Topology, view: View) -> Iterator[Text]:
    yield from _node_lines(topology.nodes, topology.time_ns)
    for source in topology.sources:
        if not source.ok:
            since = f", {age(topology.time_ns - source.fresh_ns)} old" if source.fresh_ns is not None else ""
            yield row(Text("stale", style="bold yellow"), Text(f"{source.name}{since}"), data(source.note or ""))
    running = [job for job in topology.jobs if job.state == "running"]
    finished = sorted(
        (job for job in topology.jobs if job.state != "running"), key=lambda job: job.end_ns or 0, reverse=True
    )
    if not topology.jobs:
        yield Text("")
        yield Text("no jobs")
    for job in running:
        yield Text("")
        yield from _Tree(job, topology, view).lines()
    if finished:
        yield Text("")
        shown = finished if view.ranks else finished[:_FINISHED_JOBS]
        for job in shown:
            yield from _Tree(job, topology, view).lines()
        if len(finished) > len(shown):
            yield Text(f"and {count(len(finished) - len(shown), 'older job')} that finished (--ranks shows all)", "dim")


def _node_lines(nodes: Sequence[Node], now_ns: int) -> Iterator[Text]:
    alive = [node for node in nodes if node.alive]
    dead = [node for node in nodes if not node.alive]
    helpers = Counter(node.helper for node in alive)
    parts = [count(len(alive), "node")]
    cpus, gpus = sum(node.cpus or 0 for node in alive), sum(node.gpus or 0 for node in alive)
    if cpus:
        parts.append(f"{cpus:g} CPUs")
    if gpus:
        parts.append(f"{gpus:g} GPUs")
    line = row(", ".join(parts), "helpers: " + ", ".join(f"{n} {state}" for state, n in helpers.items()))
    if dead:
        line = row(line, Text(f"{len(dead)} dead", style="red"))
    yield line
    for node in alive:
        if node.helper != "up":
            label = f"{'head' if node.is_head else 'node'} {node.ip}"
            yield row(data(label), Text(f"helper {node.helper}", style="yellow"), data(node.helper_note or ""))
    for node in dead:
        since = f"{age(now_ns - node.end_ns)} ago" if node.end_ns is not None else None
        yield row(data(f"node {node.ip}"), Text("dead", style="red"), since, data(node.death_cause or ""))


class _Tree:
    """One job."""

    def __init__(self, job: JobView, topology: Topology, view: View) -> None:
        self._job = job
        self._view = view
        self._now_ns = topology.time_ns
        self._nodes = {node.node_id: node for node in topology.nodes}
        self._several_nodes = len([node for node in topology.nodes if node.alive]) > 1
        known = {actor.actor_id for actor in job.actors}
        # A member of a group may create actors too: they hang below the group.
        self._group_of = {member.actor_id: group.group_id for group in job.groups for member in group.members}
        self._below: dict[str | None, list[Actor | GroupView]] = {}
        things: list[Actor | GroupView] = [*job.actors, *job.groups]
        for thing in things:
            parent = thing.parent_actor_id
            key = parent if parent in known else self._group_of.get(parent) if parent else None
            self._below.setdefault(key, []).append(thing)
        self._drawn: set[str] = set()

    def lines(self) -> Iterator[Text]:
        job = self._job
        ended = job.state != "running"
        yield row(
            Text(f"job {job.job_id}", style="bold"),
            Text("finished", style="dim") if ended else Text("running", style="green"),
            self._job_age(),
            data(job.submission_id) if job.submission_id else None,
            data(job.entrypoint),
        )
        if ended and not self._view.ranks:
            yield from self._failed_of_finished()
            return
        driver = job.driver
        yield Text(self._glyph(True)) + row(
            "driver",
            state_text(driver.state) if driver.state else None,
            data(driver.task_name) if driver.task_name else None,
            self._since(driver.since_ns),
            f"pid {driver.pid}" if driver.pid is not None else None,
            self._place(driver.node_id) or (data(driver.ip) if driver.ip else None),
        )
        yield from self._children(None, "   ")
        if job.clipped_actors:
            yield Text(f"   and {count(job.clipped_actors, 'older actor')} that ended", style="dim")

    def _job_age(self) -> str | None:
        job = self._job
        if job.state == "running":
            return age(self._now_ns - job.start_ns) if job.start_ns is not None else None
        if job.end_ns is None:
            return None
        lasted = f", ran {age(job.end_ns - job.start_ns)}" if job.start_ns is not None else ""
        return f"{age(self._now_ns - job.end_ns)} ago{lasted}"

    def _failed_of_finished(self) -> Iterator[Text]:
        """Everything of a finished job is dead; what failed is still news."""
        for group in self._job.groups:
            failed = [member for member in group.members if member.state == "failed"]
            yield from (Text("   ") + line for line in self._rank_lines(failed, group))
        failed_actors = [actor for actor in self._job.actors if actor.state == "failed"]
        for actor in failed_actors[:_FEW_ACTORS]:
            yield Text("   ") + self._actor_line(actor)
        if len(failed_actors) > _FEW_ACTORS:
            yield Text(f"   and {count(len(failed_actors) - _FEW_ACTORS, 'actor')} more that failed", style="red")

    def _children(self, parent: str | None, prefix: str) -> Iterator[Text]:
        branches = [branch for branch in self._branches(self._below.get(parent, [])) if branch]
        for index, branch in enumerate(branches):
            last = index == len(branches) - 1
            yield from self._branch(branch, prefix, last)

    def _branches(self, things: Iterable[Actor | GroupView]) -> list[list[Actor] | GroupView]:
        """Siblings, where many actors of one class that have nothing below them are one branch."""
        branches: list[list[Actor] | GroupView] = []
        by_class: dict[str, list[Actor]] = {}
        for thing in things:
            if isinstance(thing, GroupView):
                branches.append(thing)
            elif self._below.get(thing.actor_id):
                branches.append([thing])
            else:
                by_class.setdefault(thing.class_name, []).append(thing)
        for actors in by_class.values():
            ended = [actor for actor in actors if actor.state == "dead"]
            if len(actors) > _FEW_ACTORS and not self._view.ranks:
                branches.append(actors)
            else:
                branches += [[actor] for actor in actors if actor.state != "dead"]
                # Out of scope, killed: the normal end of an actor, told once for all of a class.
                if ended:
                    branches += [[actor] for actor in ended] if self._view.ranks else [ended]
        return branches

    def _branch(self, branch: list[Actor] | GroupView, prefix: str, last: bool) -> Iterator[Text]:
        lead, below = prefix + self._glyph(last), prefix + ("   " if last else self._bar())
        if isinstance(branch, GroupView):
            if branch.group_id in self._drawn:
                return
            self._drawn.add(branch.group_id)
            yield from self._group(branch, lead, below)
            yield from self._children(branch.group_id, below)
            return
        if len(branch) == 1:
            actor = branch[0]
            if actor.actor_id in self._drawn:
                return
            self._drawn.add(actor.actor_id)
            yield Text(lead) + self._actor_line(actor)
            yield from self._children(actor.actor_id, below)
            return
        head = row(data(shorten(branch[0].class_name, 40)), f"{len(branch)} actors", gap=" ")
        yield from self._with_counts(head, branch, lead, below)
        for actor in branch:
            if actor.state in ("paused", "failed"):
                yield Text(below) + self._actor_line(actor)

    def _group(self, group: GroupView, lead: str, below: str) -> Iterator[Text]:
        size = group.world_size if group.world_size is not None else len(group.members)
        ranks = count(size, "rank")
        alive = sum(member.state not in ("dead", "failed") for member in group.members)
        if alive < size:
            ranks = f"{alive} of {ranks} alive"
        head = row(
            data(shorten(group.name, 40), "bold"),
            Text(group.kind, style="dim") if group.kind != "actors" else None,
            ranks,
            data("roles " + ", ".join(group.roles)) if group.roles else None,
            f"and {group.clipped} older that ended" if group.clipped else None,
        )
        yield from self._with_counts(head, group.members, lead, below)
        shown = group.members
        if not self._view.ranks and len(shown) > _FEW_RANKS:
            shown = [member for member in shown if member.state in ("paused", "failed", "dead")]
        yield from (Text(below) + line for line in self._rank_lines(shown, group))

    def _with_counts(self, head: Text, members: Sequence[Actor], lead: str, below: str) -> Iterator[Text]:
        """The head and what its members do: on one line where there is room for it, else below."""
        counts = self._counts(members)
        line = Text(lead) + row(head, Text(", ").join(counts))
        if self._view.width is None or line.cell_len <= self._view.width:
            yield line
            return
        yield Text(lead) + head
        line = Text(below + "  ") + counts[0] if counts else Text(below)
        for part in counts[1:]:
            line.append(",")
            if line.cell_len + part.cell_len + 2 > self._view.width:
                yield line
                line = Text(below + "  ") + part
            else:
                line.append(" ").append_text(part)
        yield line

    def _counts(self, members: Sequence[Actor]) -> list[Text]:
        """``2 paused actor.update 3s``, ``6 running critic.update 1m``: by urgency, then by number."""
        doing: dict[tuple[str, str], list[Actor]] = {}
        for member in members:
            method = _method(member) if member.state in ("paused", "waiting", "running") else ""
            doing.setdefault((member.state or "unknown", method), []).append(member)
        order = sorted(doing.items(), key=lambda item: (_STATES.index(item[0][0]), -len(item[1]), item[0][1]))
        parts = []
        for (state, method), actors in order[:_FEW_RANKS]:
            since = [actor.since_ns for actor in actors if actor.since_ns is not None]
            parts.append(
                row(
                    state_text(state, f"{len(actors)} {state}"),
                    data(shorten(method, 40)) if method else None,
                    self._since(min(since)) if since else None,
                    gap=" ",
                )
            )
        if rest := sum(len(actors) for _, actors in order[_FEW_RANKS:]):
            parts.append(Text(f"{rest} others"))
        return parts

    def _rank_lines(self, members: Sequence[Actor], group: GroupView) -> Iterator[Text]:
        """One line a rank; without ``--ranks`` many that are in the same state share one."""
        if self._view.ranks or len(members) <= _FEW_RANKS:
            yield from map(self._rank_line, members)
            return
        alike: dict[tuple[str, str, str], list[Actor]] = {}
        for member in members:
            alike.setdefault((member.state or "unknown", _method(member), first_line(member.death_cause)), []).append(
                member
            )
        for (state, method, cause), actors in alike.items():
            if len(actors) == 1:
                yield self._rank_line(actors[0])
                continue
            known = [actor.rank for actor in actors if actor.rank is not None]
            since = [actor.since_ns for actor in actors if actor.since_ns is not None]
            yield row(
                f"ranks {span(known)}" if len(known) == len(actors) else f"{len(actors)} ranks",
                state_text(state),
                data(method) if method else None,
                self._since(min(since)) if since else None,
                data(cause, "red") if state == "failed" else None,
            )

    def _rank_line(self, actor: Actor) -> Text:
        return row(
            f"rank {actor.rank}" if actor.rank is not None else data(shorten(actor.name or actor.actor_id[:8], 40)),
            *self._doing(actor),
        )

    def _actor_line(self, actor: Actor) -> Text:
        name = actor.name or actor.class_name
        label = data(shorten(name, 40))
        if actor.name and actor.name != actor.class_name:
            label.append(f" ({clean(shorten(actor.class_name, 40))})", style="dim")
        return row(label, *self._doing(actor))

    def _doing(self, actor: Actor) -> Iterator[Text | str | None]:
        # What an ended actor ran last is no news; where one failed it is.
        method = _method(actor) if actor.state != "dead" else ""
        yield state_text(actor.state or "unknown")
        yield data(shorten(method, 48)) if method else None
        if actor.methods_running is not None and actor.methods_running > 1:
            yield f"{actor.methods_running} methods at once"
        yield self._since(actor.since_ns)
        if actor.state not in ("dead", "failed"):
            yield f"pid {actor.pid}" if actor.pid is not None else None
        yield self._place(actor.node_id)
        yield f"restarted {actor.restarts}×" if actor.restarts else None
        if actor.state in ("failed", "dead"):
            yield data(first_line(actor.death_cause), "red" if actor.state == "failed" else "")

    def _since(self, since_ns: int | None) -> str | None:
        return age(self._now_ns - since_ns) if since_ns is not None else None

    def _place(self, node_id: str | None) -> Text | None:
        if node_id is None or not self._several_nodes:
            return None
        node = self._nodes.get(node_id)
        if node is None:
            return data(node_id[:8])
        return data(f"{node.ip}{'' if node.alive else ' (dead)'}")

    def _glyph(self, last: bool) -> str:
        if self._view.utf8:
            return "└─ " if last else "├─ "
        return "`- " if last else "|- "

    def _bar(self) -> str:
        return "│  " if self._view.utf8 else "|  "


def _method(actor: Actor) -> str:
    """The method with its role: only while it has one, for an idle rank's last role says nothing."""
    if actor.task_name is None:
        return ""
    return f"{actor.role}.{actor.task_name}" if actor.role else actor.task_name
