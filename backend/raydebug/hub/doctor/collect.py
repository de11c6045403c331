"""Brings the hub's facts to the rules: nodes, what their helpers said of them, environments of jobs, the dashboard."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from urllib.parse import urlsplit

import msgspec

from raydebug.api.doctor import DoctorReport
from raydebug.api.facts import ClusterFacts
from raydebug.api.helper import Hello
from raydebug.api.names import PROTOCOL
from raydebug.api.topology import Node, NodeId, SourceState

from .facts import HEAD, DashboardFacts, DiskFacts, EnvAt, Facts, ModuleFacts, NodeFacts, Versions, watched
from .rules import check


class HelperFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a helper told when it was connected: ``protocol`` and ``version`` are its challenge's, None if not kept."""

    hello: Hello
    protocol: int | None = None
    version: str | None = None


class Doctor:
    """``GET doctor``. Each source is asked anew for each report; none may block for long."""

    def __init__(
        self,
        *,
        nodes: Callable[[], Iterable[Node]],
        helper: Callable[[NodeId], HelperFacts | None],
        cluster: Callable[[], ClusterFacts],
        dashboard: Callable[[], DashboardFacts | None],
        session_dir: str | None,
        sources: Callable[[], Iterable[SourceState]] = lambda: (),
        module: Callable[[], ModuleFacts | None] = lambda: None,
        environ: Mapping[str, str] = os.environ,
        versions: Callable[[], Versions] | None = None,
    ) -> None:
        """``helper``: of a node, where one is connected now. ``environ``: what ``ray start --head`` was called with,
        which the hub has inherited; only variables that matter are kept. ``session_dir`` None: not on this machine.
        ``module``: our file in the Ray that the hub's Python has; a hub that serves behind the dashboard proves that it
        was there at the start, not that it still is the same."""
        self._nodes = nodes
        self._helper = helper
        self._cluster = cluster
        self._dashboard = dashboard
        self._session_dir = session_dir
        self._sources = sources
        self._module = module
        self._environ = environ
        self._versions = versions or installed_versions

    async def report(self) -> DoctorReport:
        nodes = [node for node in self._nodes() if node.alive]
        names = name_nodes(nodes)
        helpers = {node.node_id: self._helper(node.node_id) for node in nodes}
        # The hub was started by the dashboard, the head's agent by its raylet: both carry the variables of `ray start`.
        head_env = watched(self._environ)
        envs = []
        for node in nodes:
            if helper := helpers[node.node_id]:
                env = watched(helper.hello.env)
                if node.is_head:
                    head_env |= env
                else:
                    envs.append(EnvAt(where=names[node.node_id], kind="node", env=env))
        envs.insert(0, EnvAt(where=HEAD, kind="node", env=head_env))
        envs += _places(self._cluster())
        # Both read the disk: packages' metadata, a file system that may hang.
        versions, disk = await asyncio.gather(
            asyncio.to_thread(self._versions), asyncio.to_thread(disk_facts, self._session_dir)
        )
        facts = Facts(
            where=HEAD,
            versions=versions,
            nodes=[_node_facts(node, names[node.node_id], helpers[node.node_id]) for node in nodes],
            sources=list(self._sources()),
            envs=envs,
            module=self._module(),
            dashboard=self._dashboard(),
            session_dir=self._session_dir,
            disk=disk,
        )
        return DoctorReport(time_ns=time.time_ns(), checks=check(facts))


def installed_versions() -> Versions:
    """Of this Python, by its packages' metadata: nothing is imported."""
    return Versions(
        python=platform.python_version(),
        ray=_version_of("ray"),
        debugpy=_version_of("debugpy"),
        raydebug=_version_of("raydebug") or _own_version(),
        protocol=PROTOCOL,
    )


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _own_version() -> str:
    from raydebug import __version__

    return __version__


def dashboard_facts(url: str | None, token_mode: bool | None) -> DashboardFacts | None:
    """From the address that Ray publishes in the GCS: the node's where it listens for the network, else loopback's."""
    if url is None:
        return None
    parts = urlsplit(url)
    return DashboardFacts(host=parts.hostname, port=parts.port or 80, token_mode=token_mode)


def disk_facts(path: str | None) -> DiskFacts | None:
    if path is None:
        return None
    try:
        usage = shutil.disk_usage(path)
    except OSError:
        return None
    return DiskFacts(path=path, free=usage.free, total=usage.total)


def name_nodes(nodes: Sequence[Node]) -> dict[str, str]:
    """``head`` or the node's ip; with the start of its id where several nodes share one."""
    ips = [node.ip for node in nodes if not node.is_head]
    return {
        node.node_id: HEAD
        if node.is_head
        else (node.ip if ips.count(node.ip) == 1 else f"{node.ip} ({node.node_id[:8]})")
        for node in nodes
    }


def _node_facts(node: Node, where: str, helper: HelperFacts | None) -> NodeFacts:
    if helper is None:
        return NodeFacts(where=where, is_head=node.is_head, helper=node.helper, helper_note=node.helper_note)
    hello = helper.hello
    return NodeFacts(
        where=where,
        is_head=node.is_head,
        helper=node.helper,
        helper_note=node.helper_note,
        versions=Versions(
            python=hello.python_version,
            ray=hello.ray_version,
            debugpy=hello.debugpy_version,
            raydebug=helper.version,
            protocol=helper.protocol,
        ),
        pyspy=hello.pyspy_version,
        ptrace=hello.ptrace,
    )


def _places(cluster: ClusterFacts) -> list[EnvAt]:
    """Running jobs, and those actors whose variables are other than their job's: hundreds of equal ranks give one line.

    Ray has laid an actor's variables over its job's by then.
    """
    jobs = {job.job_id: watched(job.env) for job in cluster.jobs if not job.ended}
    actors: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for actor in cluster.actors:
        env = watched(actor.env)
        if actor.job_id in jobs and actor.state != "DEAD" and env != jobs[actor.job_id]:
            actors.setdefault((actor.job_id, tuple(env.items())), []).append(actor.name or actor.class_name)
    places = [EnvAt(where=f"job {job_id}", kind="runtime_env", env=env) for job_id, env in jobs.items()]
    for (job_id, items), names in actors.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        places.append(EnvAt(where=f"job {job_id}, actor {names[0]}{more}", kind="runtime_env", env=dict(items)))
    return places
