"""``raydebug doctor``: what is wrong here, on the way to the cluster, and in it."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Mapping

import click
import msgspec

from raydebug.api.doctor import Check, DoctorReport
from raydebug.hub.doctor.collect import installed_versions
from raydebug.hub.doctor.facts import HERE, ClusterVersions, EnvAt, Facts, ModuleFacts, ReachFacts, watched
from raydebug.hub.doctor.rules import check

from .client import connect, connection_options
from .doctor_probe import Reached, knock
from .doctor_text import report_lines
from .errors import CommandError, NotAllowedError
from .screen import console, fits_utf8, show, width_of

EXIT_ERRORS, EXIT_UNREACHABLE, EXIT_NOT_ALLOWED = 1, 3, 4

_OF_THIS_PYTHON = ("module", "ray_version", "python_version", "debugpy_version", "raydebug_version")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    report: DoctorReport
    exit_code: int


@click.command()
@connection_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, nothing else.")
def doctor(address: str | None, token: str | None, as_json: bool) -> None:
    """Check this installation, the cluster and its nodes; each line says what to do.

    Exits with 1 if there are errors (warnings: 0), 3 if no cluster can be reached, 4 if the cluster's own checks may
    not be seen.
    """
    found = examine(address, token, os.environ)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(found.report) + b"\n")
        sys.stdout.buffer.flush()
    else:
        out = console()
        titles = {HERE: f"here: this shell, and Python at {sys.executable}"}
        show(out, report_lines(found.report.checks, width_of(out), fits_utf8(out), titles))
    raise SystemExit(found.exit_code)


def examine(address: str | None, token: str | None, environ: Mapping[str, str]) -> Found:
    """At three levels: this installation always, the way to the hub, and the hub's own report."""
    facts = Facts(
        where=HERE,
        module=_module(),
        versions=installed_versions(),
        envs=[EnvAt(where=HERE, kind="shell", env=watched(environ))],
    )
    try:
        client = connect(address, token)
    except CommandError as error:
        return _found(check(facts), [_trouble("dashboard", address or HERE, error)], exit_code=error.exit_code)
    reached = knock(client.url)
    facts = msgspec.structs.replace(facts, reach=reached.facts, cluster=_cluster(reached))
    lines = _soften(check(facts), reached.facts)
    if reached.facts.dashboard != "up":
        return _found(lines, exit_code=EXIT_UNREACHABLE)
    if reached.facts.page == "refused":
        return _found(lines, exit_code=EXIT_NOT_ALLOWED)
    if reached.facts.page != "up":
        return _found(lines)
    try:
        report = client.get("doctor", DoctorReport)
    except NotAllowedError as error:
        return _found(lines, [_trouble("report", client.url, error)], exit_code=EXIT_NOT_ALLOWED)
    except CommandError as error:
        return _found(lines, [_trouble("report", client.url, error)])
    return _found(lines, report.checks, time_ns=report.time_ns)


def _found(
    lines: list[Check], more: list[Check] | None = None, *, exit_code: int | None = None, time_ns: int | None = None
) -> Found:
    checks = [*lines, *(more or [])]
    if exit_code is None:
        exit_code = EXIT_ERRORS if any(line.level == "error" for line in checks) else 0
    return Found(report=DoctorReport(time_ns=time_ns or time.time_ns(), checks=checks), exit_code=exit_code)


def _trouble(name: str, where: str, error: CommandError) -> Check:
    message, _, hint = error.message.partition("\n")
    return Check(check=name, level="error", where=where, message=message, fix=hint)


def _module() -> ModuleFacts | None:
    """Our file in the Ray of this Python, as ``raydebug install-plugin`` sees it."""
    try:
        install = importlib.import_module("raydebug.cli.install")
    except ModuleNotFoundError:
        return None
    status = install.module_status()
    path = str(status.path) if status.path is not None else None
    return ModuleFacts(where=HERE, state=status.state, path=path)


def _cluster(reached: Reached) -> ClusterVersions | None:
    health = reached.health
    if health is None or health.ray_version in ("", "unknown"):
        return None
    return ClusterVersions(python=health.python_version, ray=health.ray_version)


def _soften(lines: list[Check], reach: ReachFacts) -> list[Check]:
    """What is wrong with this Python is no error of a cluster whose hub is up, or that runs on another machine."""
    if reach.dashboard != "up" or (reach.local and reach.page != "up"):
        return lines
    return [
        msgspec.structs.replace(line, level="warning")
        if line.level == "error" and line.where == HERE and line.check in _OF_THIS_PYTHON
        else line
        for line in lines
    ]
