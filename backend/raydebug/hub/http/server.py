"""The aiohttp application: every request goes through one door, here."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from raydebug.api.errors import ErrorBody
from raydebug.api.names import API_PREFIX, URL_PREFIX
from raydebug.hub.access.errors import AccessError
from raydebug.hub.access.gate import Asked
from raydebug.hub.access.rules import Action
from raydebug.hub.http.answers import SECURITY_HEADERS, error_answer, json_answer, pack
from raydebug.hub.http.call import Call, ProblemError, Route, Services
from raydebug.hub.http.routes import routes

logger = logging.getLogger(__name__)
access_log = logging.getLogger("raydebug.access")

_MAX_BODY: Final = 1 << 20
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{40,}")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build(services: Services, *, trusted: bool) -> web.Application:
    """The application of one listener. ``trusted``: it is the gateway's socket, so its headers count."""
    table = routes(services)
    app = web.Application(client_max_size=_MAX_BODY, middlewares=[_door(services, trusted)])
    for route in table:
        handler = _endpoint(services, route, trusted)
        if route.method == "GET":
            app.router.add_get(route.path, handler, allow_head="ws" not in route.path)
        else:
            app.router.add_route(route.method, route.path, handler)
    app.router.add_route("*", "/{path:.*}", _nowhere(services, trusted))
    app.on_response_prepare.append(add_security_headers)
    return app


def _endpoint(services: Services, route: Route, trusted: bool) -> _Handler:
    async def endpoint(request: web.Request) -> web.StreamResponse:
        asked = _asked(request, trusted)
        caller = services.access.admit(asked, route.action)
        call = Call(
            services=services,
            caller=caller,
            asked=asked,
            request=request,
            params=_params(request, route),
            path=dict(request.match_info),
            body=await _body(request, route),
        )
        answer = await route.handler(call)
        if isinstance(answer, msgspec.Struct):
            return await json_answer(answer, request.headers, route.status)
        if isinstance(answer, web.Response):
            await pack(answer, request.headers)
        return answer

    return endpoint


def _nowhere(services: Services, trusted: bool) -> _Handler:
    """Paths that aren't in the table, and methods that a path of the table doesn't have."""
    methods: dict[str, list[str]] = {}
    for route in routes(services):
        methods.setdefault(_pattern(route.path), []).append(route.method)

    async def nowhere(request: web.Request) -> web.StreamResponse:
        action: Action = "shell" if _is_page(request.path) else "unknown"
        services.access.admit(_asked(request, trusted), action)
        allowed = next((found for pattern, found in methods.items() if re.fullmatch(pattern, request.path)), None)
        if allowed is not None:
            text = ", ".join(sorted(allowed))
            raise ProblemError(405, "method_not_allowed", f"This takes {text}.", headers={"Allow": text})
        if request.path.startswith(f"{API_PREFIX}/"):
            hint = f"See {API_PREFIX}/openapi.json."
        else:
            hint = f"The page is at {URL_PREFIX}."
        raise ProblemError(404, "unknown_path", "There is nothing here.", hint)

    return nowhere


def _pattern(path: str) -> str:
    parts = re.split(r"{[^}]+}", path)
    return ("[^/]+" if "name" not in path else ".+").join(re.escape(part) for part in parts)


def _is_page(path: str) -> bool:
    return path in (URL_PREFIX, f"{URL_PREFIX}/") or path.startswith(f"{URL_PREFIX}/assets/")


def _asked(request: web.Request, trusted: bool) -> Asked:
    return Asked(headers=request.headers, peer=request.remote or "local", trusted=trusted)


def _params(request: web.Request, route: Route) -> dict[str, str]:
    known = {param.name for param in route.params}
    params: dict[str, str] = {}
    for name, value in request.query.items():
        if name not in known:
            expected = ", ".join(sorted(known)) or "no parameter"
            raise ProblemError(400, "bad_parameter", f"{name[:100]}: unknown parameter; expected {expected}")
        if name in params:
            raise ProblemError(400, "bad_parameter", f"{name}: given twice")
        if not value:
            raise ProblemError(400, "bad_parameter", f"{name}: expected a value")
        params[name] = value
    return params


async def _body(request: web.Request, route: Route) -> msgspec.Struct | None:
    if route.body is None:
        return None
    try:
        decoded: msgspec.Struct = msgspec.json.decode(await request.read(), type=route.body)
    except msgspec.DecodeError as error:
        raise ProblemError(400, "bad_body", f"The body is wrong: {error}") from error
    return decoded


def _door(services: Services, trusted: bool) -> Callable[..., Awaitable[web.StreamResponse]]:
    """Turns what handlers raise into answers, adds the headers that all have, and notes the request in the log."""

    @web.middleware
    async def door(request: web.Request, handler: _Handler) -> web.StreamResponse:
        start = time.perf_counter()
        try:
            response = await handler(request)
        except AccessError as error:
            response = _failed(request, error.status, error.body, {})
        except ProblemError as problem:
            body = ErrorBody(code=problem.code, message=problem.message, hint=problem.hint)
            response = _failed(request, problem.status, body, problem.headers)
        except web.HTTPException as error:
            body = ErrorBody(code=error.reason.lower().replace(" ", "_"), message=error.reason)
            response = _failed(request, error.status, body, {})
        except Exception:
            logger.exception("a request to %s failed", _safe(request.path))
            body = ErrorBody(code="internal", message="The hub failed to answer.", hint="See its log.")
            response = _failed(request, 500, body, {})
        took = (time.perf_counter() - start) * 1000
        access_log.debug("%s %s %d %.1f ms", request.method, _safe(request.path), response.status, took)
        return response

    return door


def _failed(request: web.Request, status: int, error: ErrorBody, headers: dict[str, str]) -> web.Response:
    as_page = not request.path.startswith(API_PREFIX) and "text/html" in request.headers.get("Accept", "")
    return error_answer(status, error, as_page=as_page, headers=headers)


async def add_security_headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)


def _safe(path: str) -> str:
    """A path for a log: without the query, and without anything that could be a token."""
    return _SECRET.sub("…", path[:200])
