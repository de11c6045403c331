"""``raydebug serve``."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import click

from raydebug.cli import local
from raydebug.cli.errors import UnreachableError


@click.command()
@click.option("--address", metavar="HOST:PORT", help="The GCS address. Default: RAY_ADDRESS, else this machine's.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Serve on this address.")
@click.option("--port", default=8266, show_default=True, type=click.IntRange(0, 65535))
@click.option("--session-dir", type=click.Path(path_type=Path), help="Where token, grants and audit log are kept.")
@click.option("--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"]))
def serve(address: str | None, host: str, port: int, session_dir: Path | None, log_level: str) -> None:
    """Run raydebug's server alone: the same page as in the dashboard, at http://HOST:PORT/debug.

    For a cluster whose dashboard can't be changed or has died. Stays in the foreground.
    """
    address = _gcs(address)
    directory = session_dir or _session_dir(address)
    temporary = None
    if directory is None:
        temporary = tempfile.TemporaryDirectory(prefix="raydebug-", ignore_cleanup_errors=True)
        directory = Path(temporary.name)
    arguments = ["--gcs-address", address, "--session-dir", str(directory), "--host", host, "--port", str(port)]
    if sys.stderr.isatty():
        click.echo(f"In another terminal `raydebug url --address http://{host}:{port}` prints the link.", err=True)
    from raydebug.hub.__main__ import main

    try:
        code = main([*arguments, "--log-level", log_level])
    finally:
        if temporary is not None:
            temporary.cleanup()
    sys.exit(code)


def _gcs(address: str | None) -> str:
    address = address or os.environ.get("RAY_ADDRESS")
    if not address or address in ("auto", "local"):
        address = local.current_cluster() or "127.0.0.1:6379"
    if "://" in address:
        raise click.UsageError(f"--address: expected the GCS address HOST:PORT, not {address!r}.")
    try:
        split = urlsplit(f"//{address}")
        host, port = split.hostname, split.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise click.UsageError(f"--address: expected the GCS address HOST:PORT, not {address!r}.")
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        raise UnreachableError(f"No Ray cluster answers at {address}: {error}") from error
    return address


def _session_dir(address: str) -> Path | None:
    """The session directory of the cluster at ``address``, if it was started here by this user."""
    session = local.latest_session()
    if session is None or not os.access(session, os.W_OK):
        return None
    return session if local.current_cluster() == address else None
