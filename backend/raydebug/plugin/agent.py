"""On every node: starts the helper, keeps it running, passes the hub's connection through to it, and hands it what
workers tell of their tasks.

Runs in the loop of Ray's node agent, whose death takes the node and its workers down: nothing else belongs here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from raydebug import ray_compat
from raydebug.api.names import (
    AGENT_HELPER_PATH,
    EVENTS_SOCKET,
    HELPER_SOCKET,
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
        log_path = os.path.join(agent.log_dir, f"raydebug-helper-{self.node_id[:8]}.log")
        self.supervisor = Supervisor("helper", self.argv, log_path, socket_path=self.socket, greeting=self.greeting)
        self._secret: str | None = None

    def argv(self) -> Sequence[str]:
        return [sys.executable, "-m", "raydebug.helper", "--socket", self.socket]

    async def greeting(self) -> bytes:
        """The helper's first line: what must not stand in a command line, which everybody on the machine can read."""
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

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.supervisor.state != "ready":
            await self.supervisor.wait_ready(PATIENCE_S)
        if not is_websocket(request):
            if self.supervisor.state != "ready":
                return self._down("it isn't ready")
            return web.Response(status=426, text="raydebug's hub connects here with a websocket.\n")
        to_helper = [
            (name, value)
            for name, value in request.raw_headers
            if name.lower() == b"host" or name.lower().startswith(b"sec-websocket-")
        ]
        try:
            return await splice(request, self.socket, AGENT_HELPER_PATH, to_helper)
        except NoUpstream as error:
            return self._down(str(error))

    def _down(self, reason: str) -> web.Response:
        child = self.supervisor
        last = f", last end: {child.last_exit}" if child.last_exit else ""
        text = f"raydebug's helper is {child.state} ({reason}{last}). Its log on that node: {child.log_path}"
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
                await asyncio.gather(
                    self.spawner.supervisor.run(), self.tee.run(self.spawner.events_socket, self.tee_problem)
                )
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("raydebug: the helper's spawner stopped; Ray goes on without it")

        @routes.get(AGENT_HELPER_PATH)  # type: ignore[untyped-decorator]
        async def helper(self, request: web.Request) -> web.StreamResponse:
            try:
                if self.spawner is None:
                    return web.Response(
                        status=503, text="raydebug's spawner could not be made, see dashboard_agent.log\n"
                    )
                return await self.spawner.handle(request)
            except ConnectionError:
                return Over(499)
            except Exception:
                log.exception("raydebug: the connection to the helper failed")
                return web.Response(status=500, text="raydebug: see dashboard_agent.log on this node\n")

    return RaydebugAgent
