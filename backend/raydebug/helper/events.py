"""Relays the task events of this node from Ray's agent to the hub.

What the hub hasn't acknowledged is held, within bounds; what found no room is counted. A sequence number and an epoch
tell the hub whether something is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from raydebug.api.frames import EVENTS_HEADER, REQUEST_BYTES
from raydebug.api.helper import Events

log = logging.getLogger("raydebug.helper")

HELD_BYTES: Final = 64 << 20
MESSAGE_BYTES: Final = 512 << 10
"""Of a message to the hub, about: what else is to be said doesn't wait behind more than that."""
WINDOW: Final = 8 << 20
"""Bytes under way that the hub hasn't acknowledged."""


class EventRelay:
    """``send`` delivers a message to the hub of the moment; it may be slow, and raises nothing."""

    def __init__(self, limit: int = HELD_BYTES) -> None:
        self._limit: Final = limit
        self.epoch: Final = secrets.token_hex(8)
        self._held: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._next = 1
        self._news: Final = asyncio.Event()
        self.dropped_agent = 0
        self.dropped_helper = 0
        self.problem: str | None = "Ray's agent has not connected yet"
        self._sender: asyncio.Task[None] | None = None
        self._acked = 0

    # From Ray's agent --------------------------------------------------------------------------------------------

    async def listen(self, path: str) -> asyncio.Server:
        before = os.umask(0o177)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return await asyncio.start_unix_server(self._agent, path, limit=1 << 20)
        finally:
            os.umask(before)

    async def _agent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if _peer_uid(writer) != os.geteuid():
                return
            self._told(json.loads(await reader.readline()).get("problem"))
            while True:
                length, events, dropped = EVENTS_HEADER.unpack(await reader.readexactly(EVENTS_HEADER.size))
                if length > REQUEST_BYTES:
                    log.warning("Ray's agent announces %d bytes of events at once: let go", length)
                    return
                self.dropped_agent = dropped
                self._take(events, await reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, AttributeError):
            return
        finally:
            writer.close()

    def _told(self, problem: object) -> None:
        self.problem = str(problem) if problem else None
        self._news.set()

    def _take(self, events: int, data: bytes) -> None:
        if self._bytes + len(data) > self._limit:
            self.dropped_helper += events
            self._next += 1  # the hub sees the gap
        else:
            self._held.append((self._next, data))
            self._next += 1
            self._bytes += len(data)
        self._news.set()

    # To the hub --------------------------------------------------------------------------------------------------

    def wanted(self, epoch: str, after: int, send: Callable[[Events], Awaitable[None]]) -> None:
        """A hub asks for all after ``after``, if that was of this epoch, else for all there is."""
        self.unwanted()
        self.acked(epoch, after)
        self._acked = after if epoch == self.epoch else 0
        self._sender = asyncio.ensure_future(self._send(send))

    def unwanted(self) -> None:
        """The hub has gone."""
        if self._sender is not None:
            self._sender.cancel()
            self._sender = None

    def acked(self, epoch: str, number: int) -> None:
        """The hub has what came up to ``number``."""
        if epoch != self.epoch:
            return
        self._acked = max(self._acked, number)
        while self._held and self._held[0][0] <= number:
            self._bytes -= len(self._held.popleft()[1])
        self._news.set()

    async def _send(self, send: Callable[[Events], Awaitable[None]]) -> None:
        sent = self._acked
        told: tuple[object, ...] = ()
        while True:
            self._news.clear()
            data: list[bytes] = []
            size, first = 0, 0
            under_way = 0
            for number, one in self._held:
                if number <= sent:
                    under_way += len(one)
                    continue
                if data and (size + len(one) > MESSAGE_BYTES or number != first + len(data)):
                    break
                if under_way + size > WINDOW:
                    break
                first = first or number
                data.append(one)
                size += len(one)
            state = (self.problem, self.dropped_agent, self.dropped_helper)
            if data or state != told:
                told = state
                await send(
                    Events(
                        epoch=self.epoch,
                        first=first or sent + 1,
                        data=data,
                        problem=self.problem,
                        dropped_agent=self.dropped_agent,
                        dropped_helper=self.dropped_helper,
                    )
                )
                sent = first + len(data) - 1 if data else sent
                if data:
                    continue
            await self._news.wait()


def _peer_uid(writer: asyncio.StreamWriter) -> int:
    peer = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", peer)[1])
