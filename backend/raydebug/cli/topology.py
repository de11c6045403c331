"""``raydebug ps`` and ``raydebug paused``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlencode

import click
import msgspec
from rich.text import Text

from raydebug.api.names import API_PREFIX
from raydebug.api.paused import Paused
from raydebug.api.topology import Topology

from .client import Client, connect, connection_options
from .errors import CommandError, UnreachableError
from .paused_text import paused_lines
from .screen import console, data, fits_utf8, show, watch, width_of
from .topology_text import View, topology_lines
from .words import first_line

_WATCH_S = 1.0
T = TypeVar("T")

_job = click.option("--job", metavar="ID", help="Only this job.")
_json = click.option("--json", "as_json", is_flag=True, help="Print the API's JSON document, nothing else.")
_watch = click.option("--watch", "-w", "watching", is_flag=True, help="Refresh each second until Ctrl-C.")


@click.command()
@connection_options
@_job
@click.option("--ranks", is_flag=True, help="Every rank on a line of its own; finished jobs in full.")
@_watch
@_json
def ps(address: str | None, token: str | None, job: str | None, ranks: bool, watching: bool, as_json: bool) -> None:
    """The cluster as a tree: nodes, then each job's driver, actors, WorkerGroups and ranks.

    Paused and failed ranks are always shown; the others are counted by what they do.
    """
    _not_both(watching, as_json)
    client = connect(address, token)
    path = f"{API_PREFIX}/topology" + (f"?{urlencode({'job': job})}" if job else "")
    if as_json:
        document = client.request("GET", path)
        _decode(document, Topology)
        _put(document)
        return
    out = console()
    utf8 = fits_utf8(out)

    def draw(width: int | None) -> list[Text]:
        found = _decode(client.request("GET", path), Topology)
        return topology_lines(found, View(width=width, ranks=ranks, utf8=utf8))

    if watching:
        watch(out, _patient(draw), lambda: time.sleep(_WATCH_S))
    else:
        show(out, draw(width_of(out)))


@click.command()
@connection_options
@_job
@_watch
@_json
def paused(address: str | None, token: str | None, job: str | None, watching: bool, as_json: bool) -> None:
    """Every place where a worker or driver waits at a breakpoint or in post-mortem, and who waits there."""
    _not_both(watching, as_json)
    client = connect(address, token)
    if as_json:
        document = client.request("GET", f"{API_PREFIX}/paused")
        found = _decode(document, Paused)
        _put(msgspec.json.encode(_of_job(found, job)) if job else document)
        return
    out = console()
    names = _NodeNames(client)

    def draw(width: int | None) -> list[Text]:
        found = _of_job(_decode(client.request("GET", f"{API_PREFIX}/paused"), Paused), job)
        return paused_lines(found, names.of(found), width)

    if watching:
        watch(out, _patient(draw), lambda: time.sleep(_WATCH_S))
    else:
        show(out, draw(width_of(out)))


class _NodeNames:
    """What people call the nodes. Asked for only when an unknown one shows up: a topology may be large."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: dict[str, str] = {}
        self._asked: set[str] = set()

    def of(self, paused: Paused) -> dict[str, str]:
        wanted = {member.node_id for site in paused.sites for member in site.members}
        if wanted - self._asked:
            self._asked |= wanted
            try:
                nodes = self._client.get("topology", Topology).nodes
            except CommandError:
                return self._names
            self._names |= {node.node_id: f"{node.ip} (head)" if node.is_head else node.ip for node in nodes}
        return self._names


def _of_job(paused: Paused, job: str | None) -> Paused:
    if job is None:
        return paused
    sites = []
    for site in paused.sites:
        members = [member for member in site.members if member.job_id == job]
        if members:
            since_ns = min(member.since_ns for member in members)
            sites.append(msgspec.structs.replace(site, members=members, since_ns=since_ns))
    return msgspec.structs.replace(paused, sites=sites)


def _patient(draw: Callable[[int | None], list[Text]]) -> Callable[[int | None], list[Text]]:
    """A hub that restarts doesn't end the watch: the last picture stays, below a line that says so."""
    last: list[Text] = []

    def patient(width: int | None) -> list[Text]:
        nonlocal last
        try:
            last = draw(width)
            return last
        except CommandError as error:
            if not last:
                raise
            trouble = data(f"not up to date, trying again: {first_line(error.message)}", "bold yellow")
            return [trouble, *last]

    return patient


def _decode(document: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(document, type=kind)
    except msgspec.MsgspecError as error:
        raise UnreachableError(
            f"The hub's answer can't be read: {error}", "Is it of another version? `raydebug doctor` tells."
        ) from error


def _put(document: bytes) -> None:
    sys.stdout.buffer.write(document.rstrip() + b"\n")
    sys.stdout.buffer.flush()


def _not_both(watching: bool, as_json: bool) -> None:
    if watching and as_json:
        raise click.UsageError("--watch and --json exclude each other: call again for a new document.")
