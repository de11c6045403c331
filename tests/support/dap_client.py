"""A client for the Debug Adapter Protocol: frames with Content-Length over TCP, requests, events."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

TIMEOUT = 30.0


class DapError(Exception):
    """A response with ``success: false``."""


class DapClient:
    """One connection. ``events``: all so far; ``wait`` gives each of them once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sequence = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._arrived = asyncio.Condition()
        self._unread: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.closed = False
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, host: str, port: int) -> DapClient:
        return cls(*await asyncio.open_connection(host, port))

    async def __aenter__(self) -> DapClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._task.cancel()
        self._writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await self._task
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            while True:
                message = await self._message()
                if message["type"] == "response":
                    waiting = self._waiting.pop(message["request_seq"], None)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(message)
                elif message["type"] == "event":
                    async with self._arrived:
                        self.events.append(message)
                        self._unread.append(message)
                        self._arrived.notify_all()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed = True
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionResetError("the adapter closed the connection"))

    async def _message(self) -> dict[str, Any]:
        header = await self._reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in header.decode("ascii").splitlines() if line)
        message: dict[str, Any] = json.loads(await self._reader.readexactly(int(fields["Content-Length"])))
        return message

    def write(self, raw: bytes) -> None:
        """Bytes as they are, for tests of broken frames."""
        self._writer.write(raw)

    def send(self, command: str, arguments: dict[str, Any] | None = None) -> asyncio.Future[dict[str, Any]]:
        """The whole response, when it comes."""
        number = next(self._sequence)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments or {}}
        data = json.dumps(message).encode()
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        return waiting

    async def request(self, command: str, timeout: float = TIMEOUT, /, **arguments: Any) -> dict[str, Any]:
        """The response's body."""
        response = await asyncio.wait_for(self.send(command, arguments), timeout)
        if not response["success"]:
            raise DapError(response.get("message") or command)
        body: dict[str, Any] = response.get("body") or {}
        return body

    async def wait(
        self, event: str, timeout: float = TIMEOUT, *, where: Callable[[dict[str, Any]], bool] = lambda body: True
    ) -> dict[str, Any]:
        """The body of the first such event that wasn't given yet."""

        async def found() -> dict[str, Any]:
            async with self._arrived:
                while True:
                    for message in self._unread:
                        body: dict[str, Any] = message.get("body") or {}
                        if message["event"] == event and where(body):
                            self._unread.remove(message)
                            return body
                    await self._arrived.wait()

        return await asyncio.wait_for(found(), timeout)

    async def attach(self, *, filters: list[str] | None = None, **arguments: Any) -> dict[str, Any]:
        """The handshake up to ``configurationDone``; the adapter's capabilities."""
        capabilities = await self.request("initialize", adapterID="raydebug-test", pathFormat="path", clientID="test")
        attached = self.send("attach", {"justMyCode": False, **arguments})
        await self.wait("initialized")
        await self.request("setExceptionBreakpoints", filters=filters or [])
        await self.request("configurationDone")
        response = await asyncio.wait_for(attached, TIMEOUT)
        if not response["success"]:
            raise DapError(response.get("message") or "attach")
        return capabilities

    async def stopped(self, timeout: float = TIMEOUT) -> tuple[int, dict[str, Any]]:
        """The thread that stopped, and its frame on top."""
        thread = (await self.wait("stopped", timeout))["threadId"]
        frames = await self.request("stackTrace", threadId=thread, levels=1)
        return thread, frames["stackFrames"][0]
