"""The hub's JSON API, as a script would read it."""

from __future__ import annotations

import urllib.request
from pathlib import Path
from typing import TypeVar

import msgspec

from raydebug.api.health import Health
from raydebug.api.paused import Paused, PausedSite
from raydebug.api.timeline import Tasks, Timeline
from raydebug.api.topology import Actor, GroupView, JobView, Topology

T = TypeVar("T")


def get(url: str, kind: type[T], headers: dict[str, str] | None = None) -> T:
    """Raises urllib.error.HTTPError for a status of 400 and above."""
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return msgspec.json.decode(answer.read(), type=kind)


def hub_pid(base: str) -> int:
    """The hub's, once it serves."""
    return get(f"{base}/debug/api/v1/health", Health).pid


def topology(base: str, headers: dict[str, str] | None = None) -> Topology:
    return get(f"{base}/debug/api/v1/topology", Topology, headers)


def paused(base: str) -> list[PausedSite]:
    return get(f"{base}/debug/api/v1/paused", Paused).sites


def tasks(base: str, job: str | None = None, limit: int = 200_000, headers: dict[str, str] | None = None) -> Tasks:
    return get(f"{base}/debug/api/v1/tasks?limit={limit}{f'&job={job}' if job else ''}", Tasks, headers)


def timeline(base: str, job: str, from_ns: int | None = None, to_ns: int | None = None, width: int = 1000) -> Timeline:
    asked = {"from": from_ns, "to": to_ns, "width": width}
    more = "".join(f"&{name}={value}" for name, value in asked.items() if value is not None)
    return get(f"{base}/debug/api/v1/timeline?job={job}{more}", Timeline)


def the_job(base: str, script: str, headers: dict[str, str] | None = None) -> JobView:
    """The newest job whose entrypoint names this script; LookupError if there is none."""
    found = [job for job in topology(base, headers).jobs if script in job.entrypoint]
    return max(found, key=lambda job: job.job_id) if found else _none(script)


def _none(what: str) -> JobView:
    raise LookupError(f"no job {what}")


def group(job: JobView, name: str) -> GroupView:
    return next((found for found in job.groups if found.name == name), None) or _no_group(job, name)


def _no_group(job: JobView, name: str) -> GroupView:
    raise LookupError(f"no group {name} among {[found.name for found in job.groups]}")


def actor(job: JobView, name: str) -> Actor:
    """The actor of this name or class, in a group or not."""
    for found in [*job.actors, *(member for one in job.groups for member in one.members)]:
        if name in (found.name, found.class_name):
            return found
    raise LookupError(f"no actor {name}")


def line_of(script: Path, mark: str) -> int:
    """The number of the line that ends in the comment ``# mark``."""
    for number, line in enumerate(script.read_text().splitlines(), 1):
        if line.endswith(f"# {mark}"):
            return number
    raise LookupError(mark)
