"""The gateway without Ray: an aiohttp server in front of the stand-in hub's unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from raydebug import ray_compat
from raydebug.plugin.head import Gateway
from raydebug.plugin.splice import parse_head
from tests.support.plugin import STAND_IN, runner_of


@pytest.fixture
async def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, Gateway]]:
    monkeypatch.setenv("RAYDEBUG_HUB_COMMAND", f"{sys.executable} {STAND_IN}")
    monkeypatch.setattr(ray_compat, "token_mode", lambda: False)
    gateway = Gateway(session_dir=str(tmp_path), log_dir=str(tmp_path), gcs_address="127.0.0.1:1")
    app = web.Application()
    app.router.add_route("*", "/debug", gateway.handle)
    app.router.add_route("*", "/debug/{tail:.*}", gateway.handle)
    runner = runner_of(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    task = asyncio.ensure_future(gateway.run())
    assert await gateway.supervisor.wait_ready(20)
    yield f"http://127.0.0.1:{runner.addresses[0][1]}", gateway
    await runner.cleanup()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


Served = tuple[str, Gateway]


async def test_http_passes_whole(served: Served, client: aiohttp.ClientSession) -> None:
    url, _ = served
    async with client.put(
        URL(url + "/debug/a%20b?q=%2F", encoded=True),
        headers={"X-Raydebug-Route": "ray-auth", "X-Raydebug-Token": "t"},
        data=b"x",
    ) as answer:
        assert answer.headers["X-Hub"] == "stand-in"
        assert answer.headers["Set-Cookie"] == "a=b"
        seen = await answer.json()
    assert seen["method"] == "PUT"
    assert seen["path"] == "/debug/a%20b?q=%2F"
    fields = {k.lower(): v for k, v in seen["headers"]}
    assert fields["x-raydebug-route"] == "open"
    assert fields["x-raydebug-peer"] == "127.0.0.1"
    assert fields["x-raydebug-token"] == "t"
    async with client.head(url + "/debug/x") as answer:
        assert answer.status == 200


async def test_a_body_that_cannot_be_unpacked_is_the_clients_fault(
    served: Served, client: aiohttp.ClientSession
) -> None:
    url, _ = served
    headers = {"Content-Encoding": "gzip"}
    async with client.post(url + "/debug/x", data=b"no gzip", headers=headers) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (400, "bad_body")


async def test_nothing_is_told_to_another_users_socket(
    served: Served, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody may write to Ray's session directory, so who listens in the hub's place is asked of the kernel."""
    url, _ = served
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: 12345)
        async with client.get(url + "/debug/x", headers={"X-Raydebug-Token": "t"}) as answer:
            assert answer.status == 503
        with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
            await client.ws_connect(url + "/debug/ws")
    async with client.get(url + "/debug/x") as answer:
        assert answer.status == 200


async def test_bodies_stream_both_ways(served: Served, client: aiohttp.ClientSession) -> None:
    url, _ = served

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b"x" * 65536

    async with client.post(url + "/debug/upload", data=parts()) as answer:
        assert await answer.json() == {"bytes": 64 * 65536}
    async with client.post(url + "/debug/upload", data=b"y" * 3_000_000) as answer:
        assert await answer.json() == {"bytes": 3_000_000}
    async with client.get(url + "/debug/stream") as answer:
        first = await answer.content.readany()
        assert first == b"part 0\n"
        assert (await answer.read()).endswith(b"part 4\n")


@pytest.mark.parametrize("size", [0, 1, 70_000, 20_000_000])
async def test_websocket_echo(served: Served, client: aiohttp.ClientSession, size: int) -> None:
    data = os.urandom(size)
    async with client.ws_connect(served[0] + "/debug/ws", max_msg_size=0) as ws:
        await ws.send_bytes(data)
        assert (await ws.receive()).data == data
        await ws.send_str("ünï")
        assert (await ws.receive()).data == "ünï"


async def test_frames_sent_along_with_the_upgrade_arrive(served: Served) -> None:
    host, port = served[0].removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"GET /debug/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        b"\x81\x82\x00\x00\x00\x00hi"
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    assert b"101 Switching Protocols" in head
    assert await asyncio.wait_for(reader.readexactly(4), 10) == b"\x81\x02hi"
    writer.close()


async def test_a_refused_upgrade_is_passed_on(served: Served, client: aiohttp.ClientSession) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    async with client.get(served[0] + "/debug/refuse", headers=upgrade) as answer:
        assert answer.status == 403
        assert (await answer.json())["error"]["code"] == "origin"


async def _sent(client: aiohttp.ClientSession, url: str) -> int:
    async with client.get(url + "/debug/any") as answer:
        return int((await answer.json())["sent"])


async def test_a_client_that_does_not_read_stops_the_hub(served: Served, client: aiohttp.ClientSession) -> None:
    url, _ = served
    host, port = url.removeprefix("http://").split(":")
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    raw.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(raw, (host, int(port)))
    await loop.sock_sendall(
        raw,
        b"GET /debug/pump?chunks=4000 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    )
    # 250 MB want to come; what is under way is bounded by the buffers of sockets and ours
    before = -1
    while (now := await _sent(client, url)) != before or now == 0:
        before = now
        await asyncio.sleep(0.3)
    assert now < 16 << 20
    got = 0
    while got < 40 << 20:  # and it goes on as soon as the client reads
        got += len(await asyncio.wait_for(loop.sock_recv(raw, 1 << 20), 20))
    raw.close()


async def test_a_hub_that_does_not_read_stops_the_client(served: Served) -> None:
    host, port = served[0].removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"GET /debug/slow HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    await reader.readuntil(b"\r\n\r\n")
    frame = b"\x82\xfe\x40\x00\x00\x00\x00\x00" + b"z" * 16384
    sent = 0

    async def push() -> None:
        nonlocal sent
        while True:
            writer.write(frame)
            await writer.drain()
            sent += len(frame)

    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(push(), 3)
    assert 0 < sent < 32 << 20
    writer.transport.abort()


async def test_a_closed_client_closes_at_the_hub_and_the_other_way_round(
    served: Served, client: aiohttp.ClientSession
) -> None:
    url, gateway = served
    async with client.ws_connect(url + "/debug/pump?chunks=3") as ws:
        got = [m async for m in ws]
    assert [len(m.data) for m in got] == [65536] * 3
    assert ws.close_code == 1000
    async with client.ws_connect(url + "/debug/ws") as ws:
        assert gateway.supervisor.pid is not None
        os.kill(gateway.supervisor.pid, 9)
        message = await asyncio.wait_for(ws.receive(), 10)
        assert message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)


async def test_half_an_answer_is_not_taken_for_a_whole_one(served: Served, client: aiohttp.ClientSession) -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.get(served[0] + "/debug/cut") as answer:
            await answer.read()


async def test_dot_segments_are_refused(served: Served) -> None:
    host, port = served[0].removeprefix("http://").split(":")
    for path in ("/debug/assets/../api/v1/tasks", "/debug/assets/%2e%2e/api/v1/tasks"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()


def test_parse_head() -> None:
    assert parse_head(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\nX: a:b") == (403, {"content-length": "2", "x": "a:b"})
    with pytest.raises(ValueError, match="unpack"):
        parse_head(b"SSH-2.0")
