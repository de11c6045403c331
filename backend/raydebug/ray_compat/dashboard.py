"""Ray's dashboard: how modules get into it, its token, its address."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any

log = logging.getLogger(__name__)


def dashboard_head() -> tuple[Any, Any]:
    """The base class of modules in the dashboard's head process, and the table that takes their routes."""
    from ray.dashboard.optional_utils import DashboardHeadRouteTable
    from ray.dashboard.utils import DashboardHeadModule

    return DashboardHeadModule, DashboardHeadRouteTable


def dashboard_agent() -> tuple[Any, Any]:
    """The base class of modules in a node's dashboard agent, and the table that takes their routes."""
    try:
        from ray.dashboard.optional_utils import DashboardAgentRouteTable
    except ImportError:
        from ray.dashboard.routes import DashboardAgentRouteTable
    from ray.dashboard.utils import DashboardAgentModule

    return DashboardAgentModule, DashboardAgentRouteTable


def token_mode() -> bool:
    """Whether this cluster asks for Ray's own token (``RAY_AUTH_MODE=token``, Ray 2.52 and later)."""
    try:
        from ray._private.authentication import authentication_utils
    except ImportError:
        return False
    return bool(authentication_utils.is_token_auth_enabled())


def holds_ray_token(headers: Mapping[str, str], cookies: Mapping[str, str]) -> bool:
    """The check that Ray's middleware makes in token mode, from the same three places in the same order."""
    from ray._private.authentication import authentication_constants as names
    from ray._private.authentication import authentication_utils

    given = headers.get(names.AUTHORIZATION_HEADER_NAME) or headers.get(names.RAY_AUTHORIZATION_HEADER_NAME)
    if not given and (cookie := cookies.get(names.AUTHENTICATION_TOKEN_COOKIE_NAME)):
        given = names.AUTHORIZATION_BEARER_PREFIX + cookie
    return bool(given) and bool(authentication_utils.validate_request_token(given))


def ray_token_headers() -> dict[str, str]:
    """What Ray's agents and dashboard ask for in token mode; empty where it is off or this process has no token."""
    try:
        if not token_mode():
            return {}
        loader = importlib.import_module("ray._raylet").AuthenticationTokenLoader.instance()
        return dict(loader.get_token_for_http_header()) if loader.has_token() else {}
    except (ImportError, AttributeError):
        return {}


def make_paths_public(exact: Iterable[str], prefixes: Iterable[str]) -> bool:
    """Exempt paths of the dashboard's head from Ray's token check; to be called before its server starts.

    Ray builds the list of public paths inside ``HttpServerDashboardHead.run``, so the one way in is the function that
    gets it. False where there is nothing to exempt from (before Ray 2.52) or Ray has changed: paths stay refused then.
    """
    try:
        from ray.dashboard import http_server_head as server

        original = server.get_token_auth_middleware
    except (ImportError, AttributeError):
        return False
    exact, prefixes = tuple(exact), tuple(prefixes)

    def with_ours(aiohttp_module: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            ray_exact, ray_prefixes, *rest = (*args, None, None)[: max(2, len(args))]
            ray_exact = kwargs.pop("whitelisted_exact_paths", ray_exact) or ()
            ray_prefixes = kwargs.pop("whitelisted_path_prefixes", ray_prefixes) or ()
            return original(aiohttp_module, [*ray_exact, *exact], [*ray_prefixes, *prefixes], *rest, **kwargs)
        except TypeError:
            log.exception("Ray's token middleware has changed: raydebug's page asks for Ray's token, too")
            return original(aiohttp_module, *args, **kwargs)

    server.get_token_auth_middleware = with_ours
    return True


def dashboard_url(head_module: Any) -> str:
    """Where the dashboard serves; its port may differ from the configured one, which was taken. Blocks on the GCS."""
    address = f"{head_module.http_host}:{head_module.http_port}"
    try:
        from ray._private import ray_constants

        published = head_module.gcs_client.internal_kv_get(
            ray_constants.DASHBOARD_ADDRESS.encode(), namespace=ray_constants.KV_NAMESPACE_DASHBOARD, timeout=5
        )
        address = published.decode() if published else address
    except Exception:
        log.warning("raydebug: the dashboard's address isn't in the GCS, taking %s", address, exc_info=True)
    return f"http://{address}"


def agent_kv_put_if_absent(agent: Any, key: bytes, value: bytes, namespace: bytes) -> bytes:
    """What the GCS KV holds under ``key`` after an attempt to be the first to put it. Blocks on the GCS."""
    client = getattr(agent, "gcs_client", None)
    if client is None:  # before 2.44 or so agents had an asyncio client only, of another kind
        from ray._raylet import GcsClient  # type: ignore[attr-defined]

        client = GcsClient(address=agent.gcs_address)
    client.internal_kv_put(key, value, False, namespace=namespace, timeout=10)
    return bytes(client.internal_kv_get(key, namespace=namespace, timeout=10) or b"")
