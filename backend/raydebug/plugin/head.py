"""The gateway: passes everything below ``/debug`` to the hub's unix socket, and keeps the hub running.

Runs in the loop of Ray's dashboard. Nothing is parsed, compressed or kept here: websockets are spliced as bytes, HTTP
bodies are streamed. Whatever goes wrong stays inside.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from raydebug import ray_compat
from raydebug.api.names import API_PREFIX, HUB_SOCKET, URL_PREFIX

from . import down, headers
from .sockets import is_own, socket_path
from .splice import FOREIGN, NoUpstream, Over, is_websocket, splice
from .supervisor import Supervisor, log_tail

log = logging.getLogger(__name__)

PATIENCE_S = 2.0
"""How long a request waits for a hub that is just starting."""
CONNECT_TIMEOUT_S = 5.0


class _OwnHub(aiohttp.UnixConnector):
    """Hands out no connection to another user's process: it would be told the tokens in the requests."""

    async def _create_connection(self, *args: Any, **kwargs: Any) -> Any:
        made: Any = await super()._create_connection(*args, **kwargs)
        if not is_own(made.transport.get_extra_info("socket")):
            made.transport.abort()
            raise NoUpstream(FOREIGN)
        return made


class Gateway:
    """Ray-free: everything about the cluster comes in through the constructor."""

    def __init__(self, *, session_dir: str, log_dir: str, gcs_address: str) -> None:
        self.session_dir = session_dir
        self.gcs_address = gcs_address
        self.socket = socket_path(session_dir, HUB_SOCKET)
        self.url: str | None = None
        self.log_path = os.path.join(log_dir, "raydebug-hub.log")
        self.is_open = os.environ.get("RAYDEBUG_OPEN") == "1"
        try:
            self.proxies = headers.parse_proxies(os.environ.get("RAYDEBUG_TRUSTED_PROXIES", ""))
        except ValueError as error:
            self.proxies = []
            log.error("raydebug: RAYDEBUG_TRUSTED_PROXIES is not understood, no proxy is trusted: %s", error)
        self.supervisor = Supervisor("hub", self.argv, self.log_path, socket_path=self.socket)
        self._session: aiohttp.ClientSession | None = None

    # --- the hub process

    def argv(self) -> Sequence[str]:
        # RAYDEBUG_HUB_COMMAND: for tests, a stand-in that takes the same arguments.
        stand_in = os.environ.get("RAYDEBUG_HUB_COMMAND")
        command = shlex.split(stand_in) if stand_in else [sys.executable, "-m", "raydebug.hub"]
        url = ["--dashboard-url", self.url] if self.url else []
        return [
            *command,
            *("--gcs-address", self.gcs_address),
            *("--session-dir", self.session_dir),
            *("--socket", self.socket),
            *url,
            "--watch-stdin",
        ]

    async def run(self) -> None:
        try:
            await self.supervisor.run()
        finally:
            if self._session is not None:
                await self._session.close()

    # --- requests

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._handle(request)
        except ConnectionError:
            return Over(499)  # the client has gone; raised on, Ray would log a traceback for it
        except Exception:
            log.exception("raydebug: %s %s failed in the gateway", request.method, request.path)
            return _error(500, "gateway_error", "raydebug's gateway failed on this request.", "See dashboard.log.")

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if not headers.is_plain(request.path):
            return _error(400, "bad_path", "The path has dot segments or control characters.", "Send a plain path.")
        route = self._route(request)
        if route is None:
            return web.Response(status=401, text="Unauthorized: Missing authentication token")
        peer = request.remote or ""
        trusted = headers.is_trusted(peer, self.proxies)
        to_hub = headers.to_hub(request.raw_headers, peer=peer, route=route, trusted=trusted)
        if self.supervisor.state == "starting":
            await self.supervisor.wait_ready(PATIENCE_S)
        try:
            if is_websocket(request):
                return await splice(request, self.socket, request.rel_url.raw_path_qs, to_hub)
            return await self._forward(request, to_hub)
        except (NoUpstream, aiohttp.ClientConnectionError, web.RequestPayloadError) as error:
            if request.content.exception() is not None:
                return _error(400, "bad_body", "The body can't be read.", "Is it of the Content-Encoding it names?")
            return self._down(request, route, str(error))

    def _route(self, request: web.Request) -> headers.Route | None:
        if not ray_compat.token_mode():
            return "open"
        if headers.is_public(request.path):
            return "shell"
        # Ray's middleware has asked the same already; the hub grants everything on this word, so it is asked again.
        if ray_compat.holds_ray_token(request.headers, request.cookies):
            return "ray-auth"
        return None

    async def _forward(self, request: web.Request, to_hub: list[tuple[bytes, bytes]]) -> web.StreamResponse:
        fields = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in to_hub)
        has_body = request.can_read_body
        if has_body and "Content-Encoding" in request.headers:
            # aiohttp has unpacked the body already.
            fields.popall("Content-Encoding")
            fields.popall("Content-Length", None)
        async with self._http().request(
            request.method,
            URL("http://hub" + request.rel_url.raw_path_qs, encoded=True),
            headers=fields,
            data=_body(request) if has_body else None,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        ) as answer:
            back = CIMultiDict(headers.from_hub(answer.raw_headers))
            if request.method == "HEAD" or answer.status in (204, 304):
                return web.Response(status=answer.status, reason=answer.reason, headers=back)
            response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=back)
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            except aiohttp.ClientError as error:
                # Half an answer: the client has to notice, so its connection ends here, without the final chunk.
                if request.transport is not None:
                    request.transport.abort()
                log.debug("raydebug: an answer was cut off: %s", error)
                return Over(answer.status)
            await response.write_eof()
            return response

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A new connection for each request: on a unix socket it costs 0.1 ms, and none is ever stale.
            self._session = aiohttp.ClientSession(
                connector=_OwnHub(self.socket, force_close=True, limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    def _down(self, request: web.Request, route: headers.Route, reason: str) -> web.Response:
        child = self.supervisor
        seen = route == "ray-auth" or (route == "open" and (self.is_open or is_at_the_machine(request)))
        state = down.Down(
            failing=child.state == "failing",
            crashes=child.crashes,
            last_exit=child.last_exit,
            retry_in_s=max(0.0, child.retry_at - time.time()) if child.retry_at else None,
            log_path=self.log_path,
            log=log_tail(self.log_path) if seen else None,
            reason=reason if seen else None,
        )
        common = {"Cache-Control": "no-store", "Retry-After": "2", "X-Content-Type-Options": "nosniff"}
        wants_page = "text/html" in request.headers.get("Accept", "") and not request.path.startswith(API_PREFIX)
        if wants_page:
            return web.Response(status=503, text=down.as_html(state), content_type="text/html", headers=common)
        return web.Response(status=503, text=down.as_json(state), content_type="application/json", headers=common)


def _error(status: int, code: str, message: str, hint: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message, "hint": hint}}, status=status)


async def _body(request: web.Request) -> AsyncIterator[bytes]:
    async for chunk in request.content.iter_any():
        yield chunk


def is_at_the_machine(request: web.Request) -> bool:
    """Whether the client runs on the head, or came through a tunnel of somebody who may log in there.

    Decides who sees the log's end while the hub, which knows roles, is down. A reverse proxy on the head is a loopback
    peer, too, so a forwarded request doesn't count; nor does a name that a DNS rebinding page could own.
    """
    fields = request.headers
    if any(n in fields for n in ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")):
        return False
    host = fields.get("Host", "").rpartition(":")[0] or fields.get("Host", "")
    with contextlib.suppress(ValueError):
        peer_is_local = ipaddress.ip_address((request.remote or "").partition("%")[0]).is_loopback
        if host == "localhost":
            return peer_is_local
        return peer_is_local and ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def module_class() -> type:
    """Ray's module around the gateway. The dashboard awaits ``run`` and would end with it: nothing may come out."""
    base, routes = ray_compat.dashboard_head()

    class RaydebugHead(base):  # type: ignore[misc, valid-type]
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.gateway: Gateway | None = None
            try:
                self.gateway = Gateway(session_dir=self.session_dir, log_dir=self.log_dir, gcs_address=self.gcs_address)
                ray_compat.make_paths_public(headers.PUBLIC_EXACT, headers.PUBLIC_PREFIXES)
            except Exception:
                log.exception("raydebug: the gateway could not be made; Ray goes on without it")

        @staticmethod
        def is_minimal_module() -> bool:
            return False

        async def run(self, server: Any = None) -> None:
            if self.gateway is None:
                return
            try:
                loop = asyncio.get_running_loop()
                self.gateway.url = await loop.run_in_executor(None, ray_compat.dashboard_url, self)
                await self.gateway.run()
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("raydebug: the gateway stopped; Ray goes on without it")

        async def _serve(self, request: web.Request) -> web.StreamResponse:
            if self.gateway is None:
                return _error(503, "gateway_down", "raydebug's gateway could not be made.", "See dashboard.log.")
            return await self.gateway.handle(request)

        @routes.view(URL_PREFIX)  # type: ignore[untyped-decorator]
        async def debug(self, request: web.Request) -> web.StreamResponse:
            return await self._serve(request)

        @routes.view(URL_PREFIX + "/{tail:.*}")  # type: ignore[untyped-decorator]
        async def debug_below(self, request: web.Request) -> web.StreamResponse:
            return await self._serve(request)

    return RaydebugHead
