"""``raydebug doctor``: what is wrong here, on the way to the cluster, and in it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import Final

import click
import msgspec

from raydebug.api.doctor import Check, DoctorReport

from .client import connect, connection_options
from .doctor_probe import Reached, knock
from .doctor_text import report_lines
from .errors import CommandError, NotAllowedError
from .install import ModuleStatus, module_status
from .screen import console, fits_utf8, show, width_of

EXIT_ERRORS: Final = 1
EXIT_UNREACHABLE: Final = 3
EXIT_NOT_ALLOWED: Final = 4

HERE: Final = "here"
_OF_THIS_PYTHON: Final = ("module", "ray_version", "python_version", "debugpy_version", "raydebug_version")


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
    try:
        client = connect(address, token)
    except CommandError as error:
        lines = check_from_here(environ, module_status(), None)
        return _found(lines, [_trouble("dashboard", address or HERE, error)], exit_code=error.exit_code)
    reached = knock(client.url)
    lines = check_from_here(environ, module_status(), reached)
    if reached.dashboard != "up":
        return _found(lines, exit_code=EXIT_UNREACHABLE)
    if reached.page == "refused":
        return _found(lines, exit_code=EXIT_NOT_ALLOWED)
    if reached.page != "up":
        return _found(lines)
    try:
        report = client.get("doctor", DoctorReport)
    except NotAllowedError as error:
        return _found(lines, [_trouble("report", client.url, error)], exit_code=EXIT_NOT_ALLOWED)
    except CommandError as error:
        return _found(lines, [_trouble("report", client.url, error)])
    return _found(lines, report.checks, time_ns=report.time_ns)


def check_from_here(environ: Mapping[str, str], module: ModuleStatus, reached: Reached | None) -> list[Check]:
    """The same rules as the hub's, on what can be seen without it."""
    from raydebug.hub.doctor import collect, facts, rules

    health = reached.health if reached else None
    known = health is not None and health.ray_version not in ("", "unknown")
    checks = rules.check(
        facts.Facts(
            where=HERE,
            module=facts.ModuleFacts(
                where=HERE,
                state=module.state,
                path=str(module.path) if module.path else None,
                detail=module.detail if module.state == "no_ray" else None,
            ),
            versions=collect.installed_versions(),
            envs=[facts.EnvAt(where=HERE, kind="shell", env=facts.watched(environ))],
            cluster=facts.ClusterVersions(python=health.python_version, ray=health.ray_version)
            if health and known
            else None,
            reach=facts.ReachFacts(
                url=reached.url,
                dashboard=reached.dashboard,
                page=reached.page,
                detail=reached.detail,
                hub_version=health.version if health else None,
                hub_protocol=health.protocol if health else None,
                local=reached.local,
            )
            if reached
            else None,
        )
    )
    return [_soften(line) for line in checks] if reached and _runs_elsewhere(reached) else checks


def _runs_elsewhere(reached: Reached) -> bool:
    """What is wrong with this Python is no error of a cluster whose hub is up, or that runs on another machine."""
    return reached.dashboard == "up" and (reached.page == "up" or not reached.local)


def _soften(line: Check) -> Check:
    if line.level == "error" and line.where == HERE and line.check in _OF_THIS_PYTHON:
        return msgspec.structs.replace(line, level="warning")
    return line


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
