"""The doctor's rules: facts in, lines out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raydebug.api.doctor import Check, CheckLevel
from raydebug.api.names import HELPER_SOCKET, MIN_DEBUGPY, MIN_RAY, PROTOCOL
from raydebug.api.topology import SourceState

from .facts import ClusterVersions, DashboardFacts, DiskFacts, Facts, ModuleFacts, NodeFacts, ReachFacts, Versions
from .variables import check_variables

_LOCAL_HOSTS = ("127.", "localhost", "::1")
_SOCKET_PATH_LIMIT = 100
"""As ``plugin.sockets`` has it; the kernel's own is 107."""


def check(facts: Facts) -> list[Check]:
    """Every line that the facts allow, in the order in which a reader should mend them."""
    checks: list[Check] = []
    if facts.module:
        checks.append(_module(facts.module))
    if facts.reach:
        checks += _reach(facts.reach, facts.module)
    if facts.versions:
        own = list(_installed(facts.where, facts.versions))
        if facts.cluster:
            against = list(_from_here(facts.where, facts.versions, facts.cluster))
            own = against + [line for line in own if line.check not in {other.check for other in against}]
        checks += own
    checks += [_source(facts.where, source) for source in facts.sources]
    for node in facts.nodes:
        checks += _node(node, facts.versions)
    checks += check_variables(facts.envs)
    if facts.dashboard:
        checks += _dashboard(facts.where, facts.dashboard, others=sum(not node.is_head for node in facts.nodes))
    checks += _open_access(facts)
    if facts.session_dir:
        checks.append(_session_dir(facts.where, facts.session_dir))
    if facts.disk:
        checks.append(_disk(facts.where, facts.disk))
    return checks


def parse_version(text: str) -> tuple[int, ...]:
    """``2.60.0rc1`` -> (2, 60, 0); what can't be read is ()."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _module(module: ModuleFacts) -> Check:
    level: CheckLevel = "error"
    if module.state == "current":
        level, message, fix = "ok", f"dashboard module in its place: {module.path}", ""
    elif module.state == "missing":
        message = "Ray's dashboard has no module of raydebug" + (f": {module.path} is missing" if module.path else "")
        fix = "raydebug install-plugin   (then restart Ray: `ray stop`, `ray start --head …`)"
    elif module.state == "differs":
        message = f"{module.path} is not this version's file"
        fix = "raydebug install-plugin   (then restart Ray: `ray stop`, `ray start --head …`)"
    else:
        message = "this Python has no Ray"
        fix = 'pip install "ray[default]>=2.41", or call raydebug from the environment that `ray start` uses'
    return Check(
        check="module",
        level=level,
        where=module.where,
        message=message + (f" ({module.detail})" if module.detail else ""),
        fix=fix,
    )


def _reach(reach: ReachFacts, module: ModuleFacts | None) -> Iterator[Check]:
    def line(check: str, level: CheckLevel, message: str, fix: str = "") -> Check:
        return Check(check=check, level=level, where=url, message=message, fix=fix)

    url = reach.url
    detail = f" ({reach.detail})" if reach.detail else ""
    if reach.dashboard == "down":
        yield line(
            "dashboard",
            "error",
            f"nothing answers{detail}",
            "ray start --head   (or say where the dashboard is: `raydebug doctor --address http://HOST:8265`)",
        )
        return
    if reach.dashboard == "foreign":
        yield line(
            "dashboard",
            "error",
            f"what answers there is not Ray's dashboard{detail}",
            "say where the dashboard is: `raydebug doctor --address http://HOST:PORT`; Ray takes another port when "
            "8265 is in use, see the line `View the Ray dashboard at` of `ray start`",
        )
        return
    yield line("dashboard", "ok", "Ray's dashboard answers")
    if reach.page == "not_found":
        if module and module.state in ("missing", "differs"):
            fix = "raydebug install-plugin, then restart Ray: `ray stop`, `ray start --head …`"
        elif module and module.state == "current" and reach.local:
            fix = (
                "restart Ray (`ray stop`, `ray start --head …`): the running one started before raydebug was installed"
            )
        else:
            fix = "`pip install raydebug` in the environment that runs `ray start --head` there, then restart Ray"
        yield line("page", "error", "Ray's dashboard doesn't know /debug: it runs without raydebug's module", fix)
    elif reach.page == "hub_down":
        yield line(
            "hub",
            "error",
            f"raydebug's module is loaded, but its hub is not up{detail}",
            "wait some seconds and call again; then read its log on the head, "
            "/tmp/ray/session_latest/logs/raydebug-hub.log",
        )
    elif reach.page == "refused":
        yield line(
            "hub",
            "error",
            f"Ray runs in token mode and refused the request: the hub could not be asked{detail}",
            "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as for Ray itself (on the head: `ray get-auth-token`)",
        )
    elif reach.page == "unknown":
        yield line("hub", "error", f"the hub's answer can't be read{detail}", f"open {url}/debug in a browser")
    elif reach.hub_protocol is not None and reach.hub_protocol != PROTOCOL:
        yield line(
            "protocol",
            "error",
            f"the hub is raydebug {reach.hub_version} with protocol {reach.hub_protocol}, this command speaks "
            f"{PROTOCOL}",
            f"pip install raydebug=={reach.hub_version}   (here), or the newer one on the cluster, then restart Ray",
        )
    else:
        yield line("hub", "ok", f"hub is up, raydebug {reach.hub_version}")


def _installed(where: str, versions: Versions) -> Iterator[Check]:
    """The versions at one place against what raydebug needs."""
    ray, debugpy = versions.ray, versions.debugpy
    least = ".".join(map(str, MIN_RAY))
    if ray is None:
        yield Check(
            check="ray_version",
            level="error",
            where=where,
            message="Ray is not installed",
            fix=f'pip install "ray[default]>={least}"',
        )
    elif parse_version(ray) and parse_version(ray) < MIN_RAY:
        yield Check(
            check="ray_version",
            level="error",
            where=where,
            message=f"Ray {ray} is too old: raydebug needs {least} or newer",
            fix=f'pip install "ray[default]>={least}" on all nodes, then restart Ray',
        )
    else:
        yield Check(check="ray_version", level="ok", where=where, message=f"Ray {ray}")
    yield Check(check="python_version", level="ok", where=where, message=f"Python {versions.python}")
    yield _debugpy(where, debugpy)
    if versions.raydebug is not None:
        yield Check(check="raydebug_version", level="ok", where=where, message=f"raydebug {versions.raydebug}")


def _source(where: str, source: SourceState) -> Check:
    if source.ok:
        return Check(check="source", level="ok", where=where, message=f"{source.name}: facts come in")
    return Check(
        check="source",
        level="warning",
        where=where,
        message=f"{source.name}: what the page shows is old or missing" + (f" ({source.note})" if source.note else ""),
        fix="is the head overloaded, or a node lost? See logs/raydebug-hub.log of the session on the head",
    )


def _debugpy(where: str, version: str | None) -> Check:
    least = ".".join(map(str, MIN_DEBUGPY))
    silent = "breakpoint() in a task there logs an error and goes on"
    fix = f'pip install "debugpy>={least}" there; workers that start later use it'
    level: CheckLevel = "error"
    if version is None:
        message = f"debugpy is not installed: {silent}"
    elif parse_version(version) < MIN_DEBUGPY:
        message = f"debugpy {version} is too old, Ray wants {least}: {silent}"
    elif version < "1.8.0":
        # Ray compares the texts ("1.10.0" < "1.8.0"), in 2.41 as in 2.60.
        message = f"debugpy {version} is new enough, but Ray compares version texts and refuses it: {silent}"
        fix = 'pip install "debugpy>=1.8,<1.10" there'
    else:
        level, message, fix = "ok", f"debugpy {version}", ""
    return Check(check="debugpy_version", level=level, where=where, message=message, fix=fix)


def _node(node: NodeFacts, head: Versions | None) -> Iterator[Check]:
    yield _helper(node, head)
    if node.versions is None:
        return
    installed = [*_same_as_head(node, node.versions, head), _debugpy(node.where, node.versions.debugpy)]
    # The hub told of the head already; its helper may still have been started by another Python.
    yield from (line for line in installed if not (node.is_head and head and line.level == "ok"))
    if node.ptrace is None:
        yield Check(
            check="ptrace",
            level="ok",
            where=node.where,
            message=f"py-spy {node.pyspy or ''} can read stacks".replace("  ", " "),
        )
    else:
        yield Check(
            check="ptrace",
            level="warning",
            where=node.where,
            message=f"no right to read stacks: {node.ptrace}. Where a worker is paused is known only once attached, "
            "stacks of running ranks are missing",
            fix="on that node `sysctl kernel.yama.ptrace_scope=0`; in a container add the capability SYS_PTRACE "
            "(docker `--cap-add=SYS_PTRACE`, in a pod `securityContext.capabilities.add: [SYS_PTRACE]`)",
        )


def _helper(node: NodeFacts, head: Versions | None) -> Check:
    note = f": {node.helper_note.rstrip('.')}" if node.helper_note else ""
    pin = f"raydebug=={head.raydebug}" if head and head.raydebug else "raydebug"
    if node.helper == "up":
        return Check(check="helper", level="ok", where=node.where, message="helper is up")
    if node.helper == "connecting":
        return Check(
            check="helper",
            level="warning",
            where=node.where,
            message=f"helper not up yet{note}",
            fix="wait some seconds and call again; then read logs/raydebug-helper* of the session on that node",
        )
    if node.helper == "refused":
        return Check(
            check="helper",
            level="error",
            where=node.where,
            message=f"helper refused{note}",
            fix=f"pip install {pin} on that node, then restart its `ray start`",
        )
    return Check(
        check="helper",
        level="error",
        where=node.where,
        message=f"helper is missing{note}. Places of paused workers and stacks on this node stay unknown",
        fix="pip install raydebug on that node (where its `ray start` runs), then restart its `ray start`",
    )


def _same_as_head(node: NodeFacts, here: Versions, head: Versions | None) -> Iterator[Check]:
    if head is None:
        yield from (line for line in _installed(node.where, here) if line.check != "debugpy_version")
        return
    yield _same_ray(node.where, here.ray, head.ray, "on that node, then restart its `ray start`")
    yield _same_python(node.where, here.python, head.python, "start Ray on that node from an environment with")
    if here.raydebug is None:
        return
    if here.raydebug != head.raydebug:
        level: CheckLevel = "error" if here.protocol != head.protocol else "warning"
        yield Check(
            check="raydebug_version",
            level=level,
            where=node.where,
            message=f"raydebug {here.raydebug} (protocol {here.protocol}) here, {head.raydebug} (protocol "
            f"{head.protocol}) on the head",
            fix=f"pip install raydebug=={head.raydebug} on that node, then restart its `ray start`",
        )
    else:
        yield Check(
            check="raydebug_version",
            level="ok",
            where=node.where,
            message=f"raydebug {here.raydebug}, as on the head",
        )


def _same_ray(where: str, here: str | None, head: str | None, place: str) -> Check:
    if here == head:
        return Check(check="ray_version", level="ok", where=where, message=f"Ray {here}, as on the head")
    return Check(
        check="ray_version",
        level="error",
        where=where,
        message=f"Ray {here or 'is not installed'} here, {head} on the head: Ray refuses to mix versions",
        fix=f'pip install "ray[default]=={head}" {place}',
    )


def _same_python(where: str, here: str, head: str, start: str) -> Check:
    mine, heads = parse_version(here), parse_version(head)
    if mine == heads:
        return Check(check="python_version", level="ok", where=where, message=f"Python {here}, as on the head")
    if mine[:2] == heads[:2]:
        # Ray compares all three numbers by default and refuses a driver that differs.
        return Check(
            check="python_version",
            level="warning",
            where=where,
            message=f"Python {here} here, {head} on the head: Ray may refuse a driver that is started here",
            fix=f"{start} Python {head}",
        )
    return Check(
        check="python_version",
        level="error",
        where=where,
        message=f"Python {here} here, {head} on the head: what one pickles the other may not read",
        fix=f"{start} Python {'.'.join(map(str, heads[:2]))}",
    )


def _from_here(where: str, versions: Versions, cluster: ClusterVersions) -> Iterator[Check]:
    """Whether a driver that is started at ``where`` fits the cluster."""
    if versions.ray is not None:
        yield _same_ray(where, versions.ray, cluster.ray, "here, to start drivers from here")
        yield _same_python(
            where, versions.python, cluster.python, "to start drivers from here, use an environment with"
        )


def _dashboard(where: str, dashboard: DashboardFacts, others: int) -> Iterator[Check]:
    if dashboard.host is None:
        return
    port = dashboard.port
    if dashboard.host.startswith(_LOCAL_HOSTS):
        nodes = f"; {others} other node{'s' * (others > 1)} in this cluster" if others else ""
        yield Check(
            check="dashboard_host",
            level="warning" if others else "ok",
            where=where,
            message=f"the dashboard listens on {dashboard.host} alone: only this machine can open it{nodes}",
            fix=f"from a laptop: ssh -L {port}:127.0.0.1:{port} HEAD. Or `ray start --head --dashboard-host=0.0.0.0`: "
            "then whoever reaches the port can also submit jobs, that is run code, unless Ray's token mode is on",
        )
        return
    yield Check(
        check="dashboard_host", level="ok", where=where, message=f"the dashboard listens on {dashboard.host}:{port}"
    )
    if dashboard.token_mode is False:
        yield Check(
            check="token_mode",
            level="warning",
            where=where,
            message=f"port {port} is open to the network and Ray's token mode is off: whoever reaches it can submit "
            "jobs, that is run code, and see this cluster's jobs and nodes (raydebug asks for its own token before "
            "anybody debugs)",
            fix="start Ray with RAY_AUTH_MODE=token on all nodes (Ray 2.52 or newer), or let a firewall guard the port",
        )
    elif dashboard.token_mode:
        yield Check(check="token_mode", level="ok", where=where, message="Ray's token mode is on")


def _open_access(facts: Facts) -> Iterator[Check]:
    for place in facts.envs:
        # The hub reads the head's alone.
        if place.env.get("RAYDEBUG_OPEN") == "1" and place.where == facts.where:
            yield Check(
                check="open_access",
                level="warning",
                where=place.where,
                message="RAYDEBUG_OPEN=1: whoever reaches the page may attach to workers, that is run code in them",
                fix="unset RAYDEBUG_OPEN and restart Ray; give people links instead: `raydebug url`, `raydebug grant`",
            )


def _session_dir(where: str, path: str) -> Check:
    # The longest of our sockets; Ray's own are of about this length too.
    longest = f"{path}/sockets/{HELPER_SOCKET.format(node8='x' * 8)}"
    if len(longest.encode()) > _SOCKET_PATH_LIMIT:
        return Check(
            check="session_dir",
            level="warning",
            where=where,
            message=f"{path} is too long a path for sockets: raydebug's lie in /tmp/raydebug-* instead",
            fix="give `ray start` a shorter --temp-dir",
        )
    return Check(check="session_dir", level="ok", where=where, message=f"session in {path}")


def _disk(where: str, disk: DiskFacts) -> Check:
    free = f"{disk.free / 1e9:.1f} GB ({100 * disk.free / max(disk.total, 1):.0f} %) free in {disk.path}"
    # Ray's local_fs_capacity_threshold is 0.95: above it the node makes no more objects.
    if disk.free < 0.05 * disk.total:
        return Check(
            check="disk",
            level="warning",
            where=where,
            message=f"only {free}: over 95 % full Ray can't spill objects, and logs may stop",
            fix="free some space, or start Ray with --temp-dir on a larger disk",
        )
    return Check(check="disk", level="ok", where=where, message=free)
