"""Hands the task events that workers send to this node's agent on to the helper, as raw bytes.

Runs in the loop of Ray's node agent: it never waits for anything in Ray's way, holds a bounded number of bytes, and
counts what it has to drop. What it costs is one serialization by protobuf's C code per request of a worker.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from typing import Any, Final

from raydebug.api.frames import EVENTS_HEADER, REQUEST_BYTES

from .sockets import is_own

log = logging.getLogger(__name__)

HELD_BYTES: Final = 32 << 20
RETRY_S: Final = 1.0


class Tee:
    """``take`` requests, ``run`` to hand them on."""

    def __init__(self, limit: int = HELD_BYTES) -> None:
        self._limit: Final = limit
        self._held: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._news: Final = asyncio.Event()
        self.dropped = 0
        """Events that found no room."""

    def take(self, request: Any) -> None:
        """Keep a request until the helper has it. The newest is dropped when there is no room: what came before it is
        needed to make sense of it."""
        events = len(request.events_data.events)
        if self._bytes >= self._limit:
            self.dropped += events
            return
        data = request.SerializeToString()
        if len(data) > REQUEST_BYTES or self._bytes + len(data) > self._limit:
            self.dropped += events
            return
        self._held.append((events, data))
        self._bytes += len(data)
        self._news.set()

    async def run(self, socket_path: str, problem: str | None) -> None:
        """Hand on until cancelled. ``problem``: why there are no events to come, told to the helper."""
        while True:
            try:
                await self._hand_on(socket_path, problem)
            except OSError:
                log.debug("raydebug: no helper takes the task events", exc_info=True)
            except Exception:
                # It must not end, nor the supervisor beside it: it is tried again.
                log.exception("raydebug: handing task events on failed")
            await asyncio.sleep(RETRY_S)

    async def _hand_on(self, socket_path: str, problem: str | None) -> None:
        reader, writer = await asyncio.open_unix_connection(socket_path)
        try:
            if not is_own(writer.get_extra_info("socket")):
                return
            writer.write(json.dumps({"problem": problem}).encode() + b"\n")
            await writer.drain()
            gone = asyncio.ensure_future(reader.read(1))  # the helper says nothing: this ends with the connection
            try:
                while not gone.done():
                    await self._send_all(writer)
                    self._news.clear()
                    waiting = asyncio.ensure_future(self._news.wait())
                    await asyncio.wait((gone, waiting), return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
            finally:
                gone.cancel()
        finally:
            writer.close()

    async def _send_all(self, writer: asyncio.StreamWriter) -> None:
        while self._held:
            events, data = self._held[0]
            writer.write(EVENTS_HEADER.pack(len(data), events, self.dropped))
            writer.write(data)
            await writer.drain()
            # Only now: if the helper went meanwhile, the next one gets it.
            self._held.popleft()
            self._bytes -= len(data)
