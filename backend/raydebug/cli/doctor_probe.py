"""Knocking at the dashboard: what of Ray, raydebug's module and its hub answers at a URL."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Literal

import msgspec

from raydebug.api.errors import ErrorAnswer
from raydebug.api.health import Health
from raydebug.api.names import API_PREFIX

from .client import find_ray_token
from .local import is_here

_TIMEOUT_S = 10.0
_LIMIT = 1_000_000


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """Words as in ``hub.doctor.facts.ReachFacts``. ``health`` where ``page`` is ``up``."""

    url: str
    dashboard: Literal["up", "down", "foreign"]
    page: Literal["up", "not_found", "hub_down", "refused", "unknown"] = "unknown"
    detail: str | None = None
    local: bool = True
    health: Health | None = None


def knock(url: str) -> Reached:
    """``health`` is open to all, so only a Ray that asks for its own token is shown one."""
    reached = Reached(url=url, dashboard="up", local=is_here(url))

    def found(**changes: object) -> Reached:
        return msgspec.structs.replace(reached, **changes)

    headers: dict[str, str] = {}
    status, body, problem = _get(url + API_PREFIX + "/health", headers)
    if status == 401 and (token := find_ray_token()):
        headers = {"Authorization": f"Bearer {token}"}
        status, body, problem = _get(url + API_PREFIX + "/health", headers)
    if status is None:
        return found(dashboard="down", detail=problem)
    if status == 200 and (health := _health(body)):
        return found(page="up", health=health)
    if foreign := _foreign(url, headers):
        return found(dashboard="foreign", detail=foreign)
    if status == 404:
        return found(page="not_found")
    if status in (401, 403):
        return found(page="refused", detail=_words(body))
    if status in (502, 503, 504):
        return found(page="hub_down", detail=_words(body))
    return found(detail=f"status {status}")


def _health(body: bytes) -> Health | None:
    try:
        return msgspec.json.decode(body, type=Health)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _foreign(url: str, headers: Mapping[str, str]) -> str | None:
    """Why what answers isn't Ray's dashboard; None: it is."""
    status, body, _ = _get(url + "/api/version", headers)
    if status in (401, 403):
        return None  # Ray's token mode
    if status == 200:
        try:
            if "ray_version" in json.loads(body):
                return None
        except (ValueError, TypeError):
            pass
    return f"{url}/api/version: status {status}" if status != 200 else f"{url}/api/version is not Ray's"


def _get(url: str, headers: Mapping[str, str]) -> tuple[int | None, bytes, str | None]:
    """Status, body and, without a status, what went wrong."""
    try:
        request = urllib.request.Request(url, headers=dict(headers))
        # Proxies of the environment are for the world outside; a cluster's head is rarely behind one.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=_TIMEOUT_S) as answer:
            return int(answer.status), answer.read(_LIMIT), None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(_LIMIT), None
    except urllib.error.URLError as error:
        return None, b"", str(error.reason)
    except (OSError, ssl.SSLError, ValueError) as error:
        return None, b"", str(error)
    except Exception as error:  # http.client: what answers doesn't speak HTTP
        return 0, b"", f"not HTTP: {error!r}"


def _words(body: bytes) -> str | None:
    """What the gateway says about its hub: our error document, else nothing."""
    try:
        error = msgspec.json.decode(body, type=ErrorAnswer).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return " ".join(part for part in (error.message, error.hint) if part)
