"""Adapters that mean no good: a handshake as debugpy's, and then whatever a test says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from raydebug.dap.framing import FrameReader, Message

Behaviour = Callable[["Adapter"], Awaitable[None]]


class Adapter:
    """One connection of the hostile adapter. ``answers``: bodies by command, raw JSON; None: no answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.answers: dict[str, bytes | None] = {
            "initialize": b'{"supportsEvaluateForHovers": true, "exceptionBreakpointFilters": []}',
            "evaluate": b'{"result": "{\\"ok\\": true, \\"value\\": {}}"}',
            "stackTrace": b'{"stackFrames": [{"id": 1, "name": "f", "line": 1, "source": {"path": "/a.py"}}]}',
            "threads": b'{"threads": [{"id": 1, "name": "MainThread"}]}',
        }
        self._frames = FrameReader()
        self._seq = 1000

    def raw(self, data: bytes) -> None:
        if self.writer.transport.is_closing():
            raise ConnectionError
        self.writer.write(data)

    def frame(self, body: bytes) -> None:
        self.raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def event(self, name: str, body: Any) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._seq += 1
        self.frame(b'{"seq":%d,"type":"event","event":%b,"body":%b}' % (self._seq, json.dumps(name).encode(), text))

    def answer(self, message: Message) -> None:
        body = self.answers.get(message.command, b"{}")
        if body is not None:
            self._seq += 1
            head = b'{"seq":%d,"type":"response","request_seq":%d,"success":true' % (self._seq, message.seq)
            self.frame(head + b',"command":"x","body":' + body + b"}")

    async def serve(self, until: str | None = None) -> None:
        """Answer until the connection's end, or until this command has been answered."""
        while data := await self.reader.read(65536):
            over = False
            for message in self._frames.feed(data):
                self.answer(message)
                if message.command == "attach":
                    self.event("initialized", {})
                over |= message.command == until
            if over:
                return

    async def drain(self) -> None:
        await self.writer.drain()


@contextlib.asynccontextmanager
async def hostile(behaviour: Behaviour) -> AsyncIterator[int]:
    """Its port."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await behaviour(Adapter(reader, writer))
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
