"""``raydebug url``."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import click

from raydebug.api.names import URL_PREFIX
from raydebug.cli import local
from raydebug.cli.client import Client, connection_options, find_session, print_json, read_token, resolve
from raydebug.cli.errors import CommandError, NotAllowedError, UnreachableError


@click.command()
@connection_options
@click.option("--session-dir", type=click.Path(path_type=Path), help="Ray's session directory on the head.")
@click.option("--token-only", is_flag=True, help="Print the token alone.")
@click.option("--rotate", is_flag=True, help="Make a new token; sessions on the old one end at once.")
@click.option("--json", "as_json", is_flag=True)
def url(
    address: str | None, token: str | None, session_dir: Path | None, token_only: bool, rotate: bool, as_json: bool
) -> None:
    """Print the link that opens the page as debugger. Run it on the head, as the user who started Ray.

    Whoever has the link can run code in the training processes.
    """
    if session_dir is None and not rotate and token:
        base = resolve(address or os.environ.get("RAYDEBUG_ADDRESS"))
    else:
        session_dir, base = _find(address, session_dir)
        token = _rotate(session_dir) if rotate else _token(session_dir)
    link = f"{base}{URL_PREFIX}#token={token}"
    if as_json:
        print_json({"url": link, "token": token})
    else:
        click.echo(token if token_only else link)


def _find(address: str | None, session_dir: Path | None) -> tuple[Path, str]:
    """The session directory, and where browsers find the page."""
    address = address or os.environ.get("RAYDEBUG_ADDRESS") or os.environ.get("RAY_ADDRESS")
    if session_dir is None and not address:
        session_dir = local.latest_session()
        if session_dir is not None and local.endpoint(session_dir) is None:
            session_dir = None
    if session_dir is None:
        client = Client(resolve(address))
        session_dir = find_session(client)
        if session_dir is None:
            client.request("GET", f"{URL_PREFIX}/api/v1/health")  # says why, if nobody is there
            raise UnreachableError(
                f"The cluster at {client.url} wasn't started on this machine by this user.",
                "Run this on its head as who started it, or name its --session-dir.",
            )
        return session_dir, client.url
    found = local.endpoint(session_dir)
    if found is None:
        raise UnreachableError(f"No hub of raydebug runs for {session_dir}.")
    return session_dir, resolve(address) if address else _reachable(found.url or "http://127.0.0.1:8265")


def _reachable(base: str) -> str:
    """The URL with an address of this machine in the place of "all addresses"."""
    split = urlsplit(base)
    if split.hostname not in ("0.0.0.0", "::"):
        return base
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))  # sends nothing
            address = str(probe.getsockname()[0])
        except OSError:
            address = "127.0.0.1"
    return f"{split.scheme}://{address}:{split.port}"


def _token(session_dir: Path) -> str:
    token = read_token(session_dir)
    if token is None:
        raise NotAllowedError(
            f"The token in {local.token_file(session_dir)} can't be read.", "Run this as the user who started Ray."
        )
    return token


def _rotate(session_dir: Path) -> str:
    from raydebug.hub.access.audit import AuditLog
    from raydebug.hub.access.token import TokenFixedError, rotate

    try:
        token = rotate(local.token_file(session_dir))
        AuditLog(session_dir).write("rotate", who=f"uid {os.getuid()}, raydebug url --rotate")
    except TokenFixedError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise NotAllowedError(f"The token can't be written: {error}", "Run this as who started Ray.") from error
    click.echo("The old token is invalid. Grants stay valid: see `raydebug grant list`.", err=True)
    return token
