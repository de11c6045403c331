"""All live websockets: lets them in, ends those whose right has ended, closes them with the hub."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, Final

from aiohttp import WSCloseCode, web

from raydebug.api.errors import ErrorBody
from raydebug.api.stream import Welcome
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.errors import AccessError
from raydebug.hub.access.gate import Access, Asked
from raydebug.hub.model.timeline.timeline import TaskTimeline
from raydebug.hub.stream.connection import HEARTBEAT_S, MAX_FRAME, Connection, Debugger
from raydebug.hub.stream.publisher import Publisher

_CHECK_S: Final = 0.5
MAX_CONNECTIONS: Final = 1000

_ENDED: Final = ErrorBody("session_ended", "The right this session rests on has ended.", "Open a new link.")


class Live:
    def __init__(
        self,
        access: Access,
        publisher: Publisher,
        welcome: Callable[[Caller], Welcome],
        timeline: TaskTimeline,
        debugger: Debugger | None = None,
    ) -> None:
        self._timeline = timeline
        self._debugger = debugger
        self._access = access
        self._publisher = publisher
        self._welcome = welcome
        self._connections: set[Connection] = set()
        self._check_now = asyncio.Event()
        self._ending: set[asyncio.Task[None]] = set()
        access.on_change(self._check_now.set)

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def serve(self, request: web.Request, asked: Asked, caller: Caller) -> web.StreamResponse:
        """The handler of ``/debug/ws``."""
        ws = web.WebSocketResponse(max_msg_size=MAX_FRAME, heartbeat=HEARTBEAT_S, compress=True)
        if not ws.can_prepare(request):
            raise AccessError(426, "upgrade_required", "This is a websocket.")
        if len(self._connections) >= MAX_CONNECTIONS:
            raise AccessError(503, "too_many_viewers", f"{MAX_CONNECTIONS} viewers are connected.", "Close some.")
        await ws.prepare(request)
        transport = request.transport
        if transport is None:
            return ws
        connection = Connection(
            ws, transport, asked, caller, self._access, self._publisher, self._welcome, self._timeline, self._debugger
        )
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)
        return ws

    async def run(self) -> None:
        """End sessions whose grant was revoked or expired, or whose token was rotated, until cancelled."""
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._check_now.wait(), _CHECK_S)
            self._check_now.clear()
            for connection in list(self._connections):
                if not self._access.alive(connection.caller):
                    self._spawn(connection.refuse(_ENDED))

    def _spawn(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(ending)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Close all, for the hub is going away."""
        await asyncio.gather(
            *(c.close(WSCloseCode.SERVICE_RESTART, "the hub ends") for c in list(self._connections)),
            return_exceptions=True,
        )
