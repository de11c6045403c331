"""``raydebug grant``."""

from __future__ import annotations

import math
import re
import time
from typing import Any, Literal, cast

import click

from raydebug.api.access import Grant, GrantMade, GrantRequest, Grants
from raydebug.cli.client import connect, connection_options, print_json

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """``8h``, ``30m``, ``2d``; a number alone is seconds."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw]?)", value.strip().lower())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"{value!r}: expected something like 8h, 30m or 2d")
    if not math.isfinite(seconds):  # JSON has no such number: it would be sent as "never"
        raise click.BadParameter("too long")
    return seconds


def _text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An argument that is no text comes from the shell as what can't be encoded."""
    if value is not None and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise click.BadParameter(f"{value!r} isn't UTF-8") from None
    return value


@click.group(invoke_without_command=True)
@connection_options
@click.option("--role", type=click.Choice(["viewer", "debugger"]), help="What the link allows.")
@click.option("--name", callback=_text, help="For whom: shown in the list and in the audit log.")
@click.option("--job", "jobs", multiple=True, metavar="JOB_ID", help="Only this job; may be given several times.")
@click.option("--expires", callback=_seconds, metavar="8h", help="The link ends after this time. Default: never.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def grant(
    ctx: click.Context,
    address: str | None,
    token: str | None,
    role: str | None,
    name: str | None,
    jobs: tuple[str, ...],
    expires: float | None,
    as_json: bool,
) -> None:
    """Give a right away: prints a link. `raydebug grant list` and `raydebug grant revoke ID` manage them.

    A viewer sees, a debugger also acts, which means running code in the training processes.
    """
    ctx.obj = {"address": address, "token": token, "as_json": as_json}
    if ctx.invoked_subcommand is not None:
        return
    if role is None or name is None:
        raise click.UsageError("--role and --name are needed.")
    request = GrantRequest(
        role=cast(Literal["viewer", "debugger"], role), name=name, jobs=list(jobs) or None, expires_s=expires
    )
    client = connect(address, token)
    made = client.post("grants", request, GrantMade)
    if as_json:
        print_json(made)
        return
    click.echo(f"{client.url}/debug#token={made.token}")
    click.echo(f"Grant {made.grant.grant_id}: {_line(made.grant)}. The link is shown this once.", err=True)
    if client.url.startswith(("http://127.", "http://localhost")):
        click.echo("For others put the head's name or address in the place of this machine's own.", err=True)


def _options(command: Any) -> Any:
    return connection_options(click.option("--json", "as_json", is_flag=True)(click.pass_context(command)))


@grant.command("list")
@_options
def list_(ctx: click.Context, address: str | None, token: str | None, as_json: bool) -> None:
    """The grants that are valid now."""
    client = connect(address or ctx.obj["address"], token or ctx.obj["token"])
    _show(client.get("grants", Grants), as_json or ctx.obj["as_json"])


@grant.command()
@click.argument("grant_id")
@_options
def revoke(ctx: click.Context, address: str | None, token: str | None, as_json: bool, grant_id: str) -> None:
    """End a grant, and those made by its holder; their pages close within a second."""
    if re.fullmatch(r"[\w-]+", grant_id) is None:
        raise click.UsageError(f"{grant_id!r} isn't a grant's id.")
    client = connect(address or ctx.obj["address"], token or ctx.obj["token"])
    left = client.delete(f"grants/{grant_id}", Grants)
    if as_json or ctx.obj["as_json"]:
        print_json(left)
    else:
        click.echo(f"Revoked {grant_id}; {len(left.grants)} left.")


def _show(grants: Grants, as_json: bool) -> None:
    if as_json:
        print_json(grants)
        return
    for item in grants.grants:
        click.echo(f"{item.grant_id}  {_line(item)}")
    if not grants.grants:
        click.echo("There are no grants.")


def _line(item: Grant) -> str:
    jobs = "all jobs" if item.jobs is None else "jobs " + ", ".join(item.jobs)
    expires = "never expires"
    if item.expires_ns is not None:
        expires = "until " + time.strftime("%Y-%m-%d %H:%M", time.localtime(item.expires_ns / 1e9))
    return f"{item.role} for {item.name}, {jobs}, {expires}"
