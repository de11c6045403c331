"""On every node: starts the helper and, when it is wanted, the keeper; keeps them running, passes the hub's connections
through to them, and hands the helper what workers tell of their tasks.

Runs in the loop of Ray's node agent, whose death takes the node and its workers down: nothing else belongs here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web

from raydebug import ray_compat
from raydebug.api.names import (
    AGENT_HELPER_PATH,
    AGENT_KEEPER_PATH,
    EVENTS_SOCKET,
    HELPER_SOCKET,
    KEEPER_SOCKET,
    KV_NAMESPACE,
    KV_SECRET,
    WORKER_SOCKET,
)

from .sockets import socket_path
from .splice import NoUpstream, Over, is_websocket, splice
from .supervisor import Supervisor
from .tee import Tee

log = logging.getLogger(__name__)

PATIENCE_S = 3.0


class Spawner:
    """``agent``: Ray's DashboardAgent, of which the plain attributes are read."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.node_id: str = agent.node_id
        self.socket = socket_path(agent.session_dir, HELPER_SOCKET.format(node8=self.node_id[:8]))
        self.events_socket = socket_path(agent.session_dir, EVENTS_SOCKET.format(node8=self.node_id[:8]))
        self.helper = self._child("helper", "raydebug.helper", self.socket)
        self.keeper_socket = socket_path(agent.session_dir, KEEPER_SOCKET.format(node8=self.node_id[:8]))
        self.keeper = self._child("keeper", "raydebug.helper.keeper", self.keeper_socket)
        self.keeper_wanted = asyncio.Event()
        self._secret: str | None = None

    def _child(self, name: str, module: str, socket: str) -> Supervisor:
        log_path = os.path.join(self.agent.log_dir, f"raydebug-{name}-{self.node_id[:8]}.log")

        def argv() -> Sequence[str]:
            return [sys.executable, "-m", module, "--socket", socket]

        return Supervisor(name, argv, log_path, socket_path=socket, greeting=self.greeting)

    async def run(self) -> None:
        await asyncio.gather(self.helper.run(), self._run_keeper())

    async def _run_keeper(self) -> None:
        await self.keeper_wanted.wait()
        await self.keeper.run()

    async def greeting(self) -> bytes:
        """A child's first line: what must not stand in a command line, which everybody on the machine can read."""
        loop = asyncio.get_running_loop()
        while self._secret is None:
            try:
                mine = secrets.token_hex(32).encode()
                held = await loop.run_in_executor(
                    None, ray_compat.agent_kv_put_if_absent, self.agent, KV_SECRET, mine, KV_NAMESPACE
                )
                self._secret = held.decode() or None
            except Exception:
                log.warning("raydebug: no cluster secret from the GCS yet, trying again", exc_info=True)
            if self._secret is None:
                await asyncio.sleep(5)
        line = {
            "node_id": self.node_id,
            "secret": self._secret,
            "session_dir": self.agent.session_dir,
            "log_dir": self.agent.log_dir,
            "events_socket": self.events_socket,
            "worker_socket": socket_path(self.agent.session_dir, WORKER_SOCKET.format(node8=self.node_id[:8])),
        }
        return json.dumps(line).encode() + b"\n"

    async def handle_helper(self, request: web.Request) -> web.StreamResponse:
        return await self._pass_on(request, self.helper, AGENT_HELPER_PATH)

    async def handle_keeper(self, request: web.Request) -> web.StreamResponse:
        if not self.keeper_wanted.is_set():
            if "running" in request.query:
                return web.Response(status=204)
            self.keeper_wanted.set()
        return await self._pass_on(request, self.keeper, AGENT_KEEPER_PATH)

    async def _pass_on(self, request: web.Request, child: Supervisor, path: str) -> web.StreamResponse:
        if child.state != "ready":
            await child.wait_ready(PATIENCE_S)
        if not is_websocket(request):
            if child.state != "ready":
                return _down(child, "it isn't ready")
            return web.Response(status=426, text="raydebug's hub connects here with a websocket.\n")
        passed = [
            (name, value)
            for name, value in request.raw_headers
            if name.lower() == b"host" or name.lower().startswith(b"sec-websocket-")
        ]
        try:
            return await splice(request, child.socket_path, path, passed)
        except NoUpstream as error:
            return _down(child, str(error))


def _down(child: Supervisor, reason: str) -> web.Response:
    last = f", last end: {child.last_exit}" if child.last_exit else ""
    text = f"raydebug's {child.name} is {child.state} ({reason}{last}). Its log on that node: {child.log_path}"
    return web.Response(status=503, text=text)


def module_class() -> type:
    """Ray's module around the spawner. The agent awaits ``run`` and would end with it: nothing may come out."""
    base, routes = ray_compat.dashboard_agent()

    class RaydebugAgent(base):  # type: ignore[misc, valid-type]
        def __init__(self, dashboard_agent: Any) -> None:
            super().__init__(dashboard_agent)
            self.spawner: Spawner | None = None
            self.tee = Tee()
            self.tee_problem: str | None = "raydebug's module in Ray's agent is not ready"
            try:
                self.tee_problem = ray_compat.tee_events(self.tee.take)
                self.spawner = Spawner(dashboard_agent)
            except Exception:
                log.exception("raydebug: the helper's spawner could not be made; Ray goes on without it")

        @staticmethod
        def is_minimal_module() -> bool:
            return False

        async def run(self, server: Any = None) -> None:
            if self.spawner is None:
                return
            try:
                await asyncio.gather(self.spawner.run(), self.tee.run(self.spawner.events_socket, self.tee_problem))
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("raydebug: the helper's spawner stopped; Ray goes on without it")

        @routes.get(AGENT_HELPER_PATH)  # type: ignore[untyped-decorator]
        async def helper(self, request: web.Request) -> web.StreamResponse:
            return await self._serve(request, Spawner.handle_helper)

        @routes.get(AGENT_KEEPER_PATH)  # type: ignore[untyped-decorator]
        async def keeper(self, request: web.Request) -> web.StreamResponse:
            return await self._serve(request, Spawner.handle_keeper)

        async def _serve(
            self, request: web.Request, handle: Callable[[Spawner, web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            try:
                if self.spawner is None:
                    return web.Response(
                        status=503, text="raydebug's spawner could not be made, see dashboard_agent.log\n"
                    )
                return await handle(self.spawner, request)
            except ConnectionError:
                return Over(499)
            except Exception:
                log.exception("raydebug: the connection to the node's helper or keeper failed")
                return web.Response(status=500, text="raydebug: see dashboard_agent.log on this node\n")

    return RaydebugAgent
