"""Websocket clients of the dashboard's port, as pages are."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from raydebug.api.names import PROTOCOL
from raydebug.api.paused import PausedSite
from raydebug.api.stream import Hello, HubMessage, Patch, Subscribe, Topic

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(HubMessage).decode


class PausedWatcher:
    """A page that watches the paused places: notes when each first came with its place (Unix ns, by worker)."""

    def __init__(self, url: str) -> None:
        self.placed: dict[str, tuple[int, PausedSite]] = {}
        self._ws = connect(url.replace("http", "ws", 1) + "/debug/ws", max_size=1 << 26)
        for message in (Hello(protocol=PROTOCOL), Subscribe(topic="paused")):
            self._ws.send(_encode(message))
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for frame in self._ws:
                now = time.time_ns()
                assert isinstance(frame, bytes)
                message = _decode(frame)
                if isinstance(message, Patch) and message.tables.paused is not None:
                    for site in message.tables.paused.set:
                        if site.line is not None:
                            for member in site.members:
                                self.placed.setdefault(member.worker_id, (now, site))

    def close(self) -> None:
        self._ws.close()
        self._thread.join(5)


def _frame(message: Hello | Subscribe) -> bytes:
    """A client's frame, masked with zeros."""
    data = _encode(message)
    size = struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else struct.pack("!BH", 0xFE, len(data))
    return b"\x82" + size + bytes(4) + data


@contextlib.contextmanager
def many_pages(url: str, number: int, topics: tuple[Topic, ...] = ("topology", "paused")) -> Iterator[list[int]]:
    """Viewers that read all and look at nothing, so that they cost as little as viewers can; yields the bytes of each.

    Compression is asked for, as browsers do. They answer no pings: not for longer than a hub's patience of 30 s.
    """
    where = urlsplit(url)
    received = [0] * number
    ready = selectors.DefaultSelector()
    stop_read, stop_write = os.pipe()
    ready.register(stop_read, selectors.EVENT_READ, None)
    sockets = []
    for i in range(number):
        sock = socket.create_connection((where.hostname or "", where.port or 80), 10)
        sock.sendall(
            f"GET /debug/ws HTTP/1.1\r\nHost: {where.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = sock.recv(4096)
            assert chunk, f"refused: {head!r}"
            head += chunk
        assert b" 101 " in head.partition(b"\r\n")[0], head
        sock.sendall(_frame(Hello(protocol=PROTOCOL)) + b"".join(_frame(Subscribe(topic=topic)) for topic in topics))
        sock.setblocking(False)
        ready.register(sock, selectors.EVENT_READ, i)
        sockets.append(sock)

    def read() -> None:
        while True:
            for key, _ in ready.select():
                if key.data is None:
                    return
                assert isinstance(key.fileobj, socket.socket)
                with contextlib.suppress(BlockingIOError):
                    chunk = key.fileobj.recv(1 << 18)
                    received[key.data] += len(chunk)
                    if not chunk:
                        ready.unregister(key.fileobj)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        os.write(stop_write, b"x")
        thread.join(5)
        for sock in sockets:
            sock.close()
        os.close(stop_read)
        os.close(stop_write)
