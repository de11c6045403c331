"""Knocking at the dashboard: what of Ray, raydebug's module and its hub answers at a URL."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping

import msgspec

from raydebug.api.errors import ErrorAnswer
from raydebug.api.health import Health
from raydebug.api.names import API_PREFIX
from raydebug.hub.doctor.facts import ReachFacts

from .client import find_ray_token
from .local import is_here

_TIMEOUT_S = 10.0
_LIMIT = 1_000_000


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    facts: ReachFacts
    health: Health | None


def knock(url: str) -> Reached:
    """``health`` is open to all, so only a Ray that asks for its own token is shown one."""
    local = is_here(url)
    headers: dict[str, str] = {}
    status, body, problem = _get(url + API_PREFIX + "/health", headers)
    if status == 401 and (token := find_ray_token()):
        headers = {"Authorization": f"Bearer {token}"}
        status, body, problem = _get(url + API_PREFIX + "/health", headers)
    if status is None:
        return _reached(url, local, "down", detail=problem)
    if status == 200:
        try:
            health = msgspec.json.decode(body, type=Health)
        except (msgspec.DecodeError, UnicodeDecodeError):
            health = None
        if health is not None:
            facts = ReachFacts(
                url=url,
                dashboard="up",
                page="up",
                hub_version=health.version,
                hub_protocol=health.protocol,
                local=local,
            )
            return Reached(facts=facts, health=health)
    if foreign := _foreign(url, headers):
        return _reached(url, local, "foreign", detail=foreign)
    if status == 404:
        return _reached(url, local, "up", "not_found")
    if status in (401, 403):
        return _reached(url, local, "up", "refused", _words(body))
    if status in (502, 503, 504):
        return _reached(url, local, "up", "hub_down", _words(body))
    return _reached(url, local, "up", "unknown", f"status {status}")


def _reached(url: str, local: bool, dashboard: str, page: str = "unknown", detail: str | None = None) -> Reached:
    facts = {"url": url, "local": local, "dashboard": dashboard, "page": page, "detail": detail}
    return Reached(facts=msgspec.convert(facts, ReachFacts), health=None)


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
