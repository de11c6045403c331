"""A websocket passed through to a unix socket as bytes: nothing is parsed, masked or compressed on the way.

Both directions have bounded buffers: where one side's send buffer is full, the other side isn't read. A slow browser
stops the hub's writes, not our memory.

aiohttp owns the client's connection. ``set_parser`` (any aiohttp from 3.8 on) hands over what the client sent early,
then asyncio's ``Transport.set_protocol`` moves the connection to us; aiohttp's protocol is told when it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

from aiohttp import web

from .sockets import is_own

HEAD_LIMIT = 65536
BODY_LIMIT = 262144
HEAD_TIMEOUT_S = 30.0
BUFFER_BYTES = 262144
"""Send buffer of a side above which the other side isn't read."""
LINGER_S = 10.0
"""How long a side that doesn't read may keep the last bytes waiting after the other side has closed."""

Headers = list[tuple[bytes, bytes]]


FOREIGN = "what listens on its socket belongs to another user"


class NoUpstream(Exception):  # noqa: N818
    """Nobody of this user's listens on the socket, or what listens hung up or was silent."""


class Over(web.StreamResponse):
    """What a handler returns to aiohttp for a connection that is over: nothing is left to send."""

    def __init__(self, status: int = 101) -> None:
        super().__init__(status=status)
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class End(asyncio.Protocol):
    """One side of a splice. Until it is joined to its peer it keeps what it receives, and reads no more than that."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer: End | None = None
        self.early = bytearray()
        self.arrived = asyncio.Event()
        self.over = asyncio.Event()
        self.owner: asyncio.Protocol | None = None
        """The protocol this connection was taken from, told when the connection is lost."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=BUFFER_BYTES)

    def data_received(self, data: bytes) -> None:
        if self.peer is not None:
            if self.peer.transport is not None and not self.peer.transport.is_closing():
                self.peer.transport.write(data)
            return
        self.early += data
        self.arrived.set()
        if len(self.early) >= HEAD_LIMIT + BODY_LIMIT and self.transport is not None:
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()

    def eof_received(self) -> bool:
        self.arrived.set()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.arrived.set()
        self.over.set()
        if self.peer is not None:
            self.peer.finish()
        if self.owner is not None:
            self.owner.connection_lost(exc)

    def finish(self) -> None:
        """Close after what is still buffered has been sent, for which a side that doesn't read gets a short time."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()
            asyncio.get_running_loop().call_later(LINGER_S, self.abort)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def join(self, peer: End) -> None:
        self.peer, peer.peer = peer, self
        if self.early and peer.transport is not None:
            peer.transport.write(bytes(self.early))
            self.early.clear()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()


class _Taker:
    """Stands in for aiohttp's websocket parser for as long as it takes to move the connection."""

    def __init__(self, end: End) -> None:
        self.end = end

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.end.data_received(bytes(data))
        return False, b""

    def feed_eof(self) -> None:
        self.end.finish()


def take_over(request: web.Request) -> End:
    """Move the client's connection from aiohttp to an :class:`End`."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client has gone")
    end = End()
    protocol: Any = request.protocol
    protocol.keep_alive(False)
    protocol.set_parser(_Taker(end))
    end.owner = protocol
    transport.set_protocol(end)
    end.connection_made(transport)
    return end


def is_websocket(request: web.Request) -> bool:
    return (
        request.method == "GET"
        and request.headers.get("Upgrade", "").strip().lower() == "websocket"
        and "upgrade" in request.headers.get("Connection", "").lower()
    )


def request_head(target: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    lines = [b"GET " + target.encode("latin-1") + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in headers]
    lines += [b"Connection: Upgrade", b"Upgrade: websocket"]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers (names in lower case) of a response."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, status, *_ = first.split(" ", 2)
    if not version.startswith("HTTP/1."):
        raise ValueError(first[:80])
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(status), headers


async def _read_until(end: End, done: Any) -> None:
    while not done() and end.transport is not None and not end.over.is_set():
        end.arrived.clear()
        if done():
            return
        await end.arrived.wait()
        if end.transport is None or end.transport.is_closing():
            return


async def splice(request: web.Request, socket_path: str, target: str, headers: Headers) -> web.StreamResponse:
    """Pass a websocket through to the HTTP server on a unix socket; returns when the connection is over.

    Raises :class:`NoUpstream` before anything has been sent to the client. A refusal of the upgrade is passed on.
    """
    loop = asyncio.get_running_loop()
    try:
        _, up = await loop.create_unix_connection(End, socket_path)
    except OSError as error:
        raise NoUpstream(str(error)) from error
    try:
        assert up.transport is not None
        if not is_own(up.transport.get_extra_info("socket")):
            raise NoUpstream(FOREIGN)
        up.transport.write(request_head(target, headers))
        try:
            await asyncio.wait_for(_read_until(up, lambda: b"\r\n\r\n" in up.early), HEAD_TIMEOUT_S)
            head, found, rest = bytes(up.early).partition(b"\r\n\r\n")
            if not found or len(head) > HEAD_LIMIT:
                raise NoUpstream("it hung up before it answered")
            status, fields = parse_head(head)
            if status != 101:
                length = min(int(fields.get("content-length", 0)), BODY_LIMIT)
                await asyncio.wait_for(_read_until(up, lambda: len(up.early) >= len(head) + 4 + length), HEAD_TIMEOUT_S)
                body = bytes(up.early[len(head) + 4 :])[:length]
                kind = {"Content-Type": fields["content-type"]} if "content-type" in fields else {}
                return web.Response(status=status, body=body, headers=kind)
        except (asyncio.TimeoutError, ValueError) as error:
            raise NoUpstream(str(error) or "it is silent") from error
        client = take_over(request)
        up.early[:] = head + found + rest
        try:
            client.join(up)
            up.join(client)
            if up.over.is_set():  # it closed right after its 101, before it had a peer to tell
                client.finish()
            await client.over.wait()
            await up.over.wait()
        finally:
            client.abort()
        return Over()
    finally:
        up.abort()
