"""The commands' client: finds the hub, shows a credential, turns refusals into exit codes."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click
import msgspec

from raydebug import __version__
from raydebug.api.errors import ErrorAnswer
from raydebug.api.health import Health, HubEndpoint
from raydebug.api.names import API_PREFIX, KV_HUB, KV_NAMESPACE, TOKEN_HEADER
from raydebug.cli import local
from raydebug.cli.errors import CommandError, NotAllowedError, UnreachableError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_URL: Final = "http://127.0.0.1:8265"
_TIMEOUT_S: Final = 30.0
_PROBE_S: Final = 3.0


def connection_options(command: F) -> F:
    """``--address`` and ``--token``, which all commands that talk to the hub have."""
    command = click.option("--token", metavar="TOKEN", help="Default: RAYDEBUG_TOKEN, else the token file.")(command)
    return click.option(
        "--address",
        metavar="ADDRESS",
        help="The dashboard's URL or the GCS address HOST:PORT. Default: RAYDEBUG_ADDRESS, RAY_ADDRESS, "
        f"else {DEFAULT_URL}.",
    )(command)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A credential must not follow a redirect to somewhere else."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


class Client:
    """``token``: raydebug's or a grant's. Ray's own token is only sent where Ray asked for it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self.token = token
        self._ray_token: str | None = None
        proxies = [urllib.request.ProxyHandler({})] if local.is_here(self.url) else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)

    def get(self, path: str, kind: type[T], params: Mapping[str, str] | None = None) -> T:
        """``GET {API_PREFIX}/{path}``."""
        query = f"?{urllib.parse.urlencode(params)}" if params else ""
        return self._decoded(self.request("GET", f"{API_PREFIX}/{path}{query}"), kind)

    def post(self, path: str, body: msgspec.Struct, kind: type[T]) -> T:
        return self._decoded(self.request("POST", f"{API_PREFIX}/{path}", msgspec.json.encode(body)), kind)

    def delete(self, path: str, kind: type[T]) -> T:
        return self._decoded(self.request("DELETE", f"{API_PREFIX}/{path}"), kind)

    def request(self, method: str, path: str, body: bytes | None = None, timeout: float = _TIMEOUT_S) -> bytes:
        """The answer's body. Raises one of ``cli.errors``."""
        try:
            try:
                return self._send(method, path, body, timeout)
            except urllib.error.HTTPError as error:
                if error.code != 401 or self._ray_token is not None:
                    raise
                self._ray_token = find_ray_token()
                return self._send(method, path, body, timeout)
        except urllib.error.HTTPError as error:
            raise self._refused(error) from error
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise UnreachableError(f"No Ray Dashboard answers at {self.url}: {reason}", _WHERE) from error

    def _send(self, method: str, path: str, body: bytes | None, timeout: float) -> bytes:
        headers = {"Accept": "application/json", "User-Agent": f"raydebug/{__version__}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.token:
            headers[TOKEN_HEADER] = self.token
        if self._ray_token:
            headers["Authorization"] = f"Bearer {self._ray_token}"
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        with self._opener.open(request, timeout=timeout) as answer:
            return bytes(answer.read())

    def _refused(self, error: urllib.error.HTTPError) -> CommandError:
        try:
            body = msgspec.json.decode(error.read(), type=ErrorAnswer).error
        except (msgspec.DecodeError, OSError, HTTPException):
            body = None
        if error.code == 401:
            return NotAllowedError(
                "This cluster asks for Ray's token.", "Set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as for Ray itself."
            )
        if body is None:
            if error.code == 404:
                return UnreachableError(
                    f"A server answers at {self.url}, but raydebug isn't in it.",
                    "Install raydebug in the head's environment before `ray start --head`.",
                )
            return UnreachableError(f"{self.url} answered {error.code} {error.reason}.")
        if error.code == 403:
            return NotAllowedError(body.message, body.hint)
        if error.code in (502, 503, 504):
            return UnreachableError(body.message, body.hint)
        return CommandError(body.message, body.hint)

    def headers(self) -> list[tuple[str, str]]:
        """What a websocket must carry beside the token: Ray's own, where Ray asked for it."""
        return [("Authorization", f"Bearer {self._ray_token}")] if self._ray_token else []

    def _decoded(self, data: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError as error:
            raise UnreachableError(
                f"{self.url} gave an answer that raydebug {__version__} doesn't understand: {error}",
                "Is the same version of raydebug installed on the head?",
            ) from error


_WHERE: Final = "Name the cluster with --address (the dashboard's URL, or the GCS address)."


def connect(address: str | None, token: str | None) -> Client:
    """The hub of a cluster, with the best credential at hand."""
    client = Client(resolve(address or os.environ.get("RAYDEBUG_ADDRESS") or os.environ.get("RAY_ADDRESS")))
    # A secret that was mounted or read from a file often ends in a newline.
    client.token = (token or os.environ.get("RAYDEBUG_TOKEN") or "").strip() or find_local_token(client)
    return client


def resolve(address: str | None) -> str:
    """The URL below which ``/debug`` is served."""
    if not address or address in ("auto", "local"):
        return DEFAULT_URL
    try:
        named = bool(urlsplit(address if "://" in address else f"//{address}").hostname)
    except ValueError:
        named = False
    if not named:
        raise click.UsageError(f"--address: expected a URL or HOST:PORT, not {address!r}.")
    if address.startswith(("http://", "https://")):
        split = urlsplit(address)
        return f"{split.scheme}://{split.netloc}{split.path.rstrip('/').removesuffix('/debug')}"
    if address.startswith("ray://"):
        return f"http://{urlsplit(address).hostname}:8265"
    if ":" not in address:
        raise click.UsageError(f"--address: expected a URL or HOST:PORT, not {address!r}.")
    if _speaks_http(f"http://{address}"):
        return f"http://{address}"
    found = hub_of_gcs(address)
    if found is not None and found.url is not None:
        return found.url
    raise UnreachableError(f"No hub is known to the cluster at {address}.", "Give the dashboard's URL instead.")


def hub_of_gcs(gcs_address: str) -> HubEndpoint | None:
    """What the hub published in the GCS KV; imports ray."""
    from raydebug import ray_compat

    try:
        data = asyncio.run(ray_compat.read_kv(gcs_address, KV_HUB, KV_NAMESPACE))
        return msgspec.json.decode(data, type=HubEndpoint) if data else None
    except (ray_compat.GcsError, msgspec.MsgspecError) as error:
        raise UnreachableError(f"No GCS answers at {gcs_address}: {error}") from error


def _speaks_http(url: str) -> bool:
    client = Client(url)
    try:
        client.request("GET", f"{API_PREFIX}/health", timeout=_PROBE_S)
    except NotAllowedError:
        return True
    except CommandError:
        return False
    return True


def find_local_token(client: Client) -> str | None:
    """The cluster's token, where this machine is the head and its file may be read."""
    session_dir = find_session(client)
    return read_token(session_dir) if session_dir is not None else None


def find_session(client: Client) -> Path | None:
    """The session directory of the hub at the client's URL, where this user of this machine runs it."""
    if not (local.is_here(client.url) and local.is_own_listener(client.url)):
        return None
    try:
        health = client.get("health", Health)
    except CommandError:
        return None
    return local.session_of(health)


def read_token(session_dir: Path) -> str | None:
    from raydebug.hub.access.token import read_token as read

    try:
        return read(local.token_file(session_dir)) or None
    except OSError:
        return None


def find_ray_token() -> str | None:
    """Ray's own token, from the places where Ray's client looks."""
    if token := os.environ.get("RAY_AUTH_TOKEN", "").strip():
        return token
    path = os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token"
    try:
        return Path(path).expanduser().read_text().strip() or None
    except OSError:
        return None


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False))
