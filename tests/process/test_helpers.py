"""Hub and helper against each other: a real helper process behind the splice that Ray's agent has, without Ray."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web

from raydebug.api.helper import Answer, Challenge, Hello, Refused
from raydebug.api.names import AGENT_HELPER_PATH, PROTOCOL
from raydebug.api.proof import nonce, proof, same
from raydebug.hub.nodes.dial import NodeAddress, note_for_status
from raydebug.hub.sources import helpers as module
from raydebug.hub.sources.helpers import Helpers
from tests.support.plugin import helper_process, runner_of, small_agent

NODE = "ab" * 28
SECRET = "s" * 64


async def secret() -> str:
    return SECRET


async def until(probe: Callable[[], bool], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not probe():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def linked(url: str, given: Callable[[], object] = secret) -> AsyncIterator[Helpers]:
    helpers = Helpers(given)  # type: ignore[arg-type]
    await helpers.sync([NodeAddress(NODE, url)])
    try:
        yield helpers
    finally:
        await helpers.close()


def test_proofs_are_bound_to_all_they_name() -> None:
    base = ("secret", "hub", NODE, "n1", "n2")
    made = proof(*base)  # type: ignore[arg-type]
    assert same(made, proof(*base))  # type: ignore[arg-type]
    for i, other in enumerate(("other", "helper", "cd" * 28, "n2", "n1")):
        changed = [*base[:i], other, *base[i + 1 :]]
        assert not same(made, proof(*changed))  # type: ignore[arg-type]
    assert nonce() != nonce()
    assert len(nonce()) == 64


async def test_handshake_titles_dump_and_a_killed_helper(tmp_path: Path) -> None:
    socket = tmp_path / "helper.sock"
    target = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1)  # noqa: ASYNC220
    async with small_agent(socket) as url:
        with helper_process(socket, node_id=NODE, secret=SECRET) as child:
            assert stat.S_IMODE(socket.stat().st_mode) == 0o600
            async with linked(url) as helpers:
                await helpers.watch(NODE, [target.pid, 999_999_999])
                await until(lambda: helpers.state(NODE) == ("up", None))
                assert helpers.summary() == (1, 1)
                await until(lambda: (NODE, target.pid) in helpers.titles)
                title = helpers.titles[NODE, target.pid]
                assert "input()" in title.title
                assert title.since_ns is None
                hello = helpers.hello(NODE)
                assert hello is not None
                assert hello.pid == child.pid
                assert hello.env["RAY_DEBUG"] == "1"
                assert hello.pyspy_version

                answers = await asyncio.gather(*(helpers.dump(NODE, target.pid) for _ in range(8)))
                assert all(a.error is None and a.pid == target.pid for a in answers)
                assert "watched" in ((await helpers.dump(NODE, 1)).error or "")

                target.kill()
                target.wait()
                await until(lambda: not helpers.titles)

                await helpers.watch(NODE, [os.getpid()])
                await until(lambda: (NODE, os.getpid()) in helpers.titles)
                child.kill()
                child.wait()
                await until(lambda: helpers.state(NODE)[0] == "connecting")
                assert not helpers.titles
                await until(lambda: "helper" in (helpers.state(NODE)[1] or ""))
                assert (await helpers.dump(NODE, os.getpid())).error
        with helper_process(socket, node_id=NODE, secret=SECRET):
            async with linked(url) as helpers:
                await until(lambda: helpers.state(NODE)[0] == "up")


async def test_the_watched_set_survives_a_reconnect(tmp_path: Path) -> None:
    socket = tmp_path / "helper.sock"
    async with small_agent(socket) as url, linked(url) as helpers:
        await helpers.watch(NODE, [os.getpid()])
        for _ in range(2):
            with helper_process(socket, node_id=NODE, secret=SECRET):
                await until(lambda: (NODE, os.getpid()) in helpers.titles)
            await until(lambda: not helpers.titles)


async def test_the_newest_hub_is_served(tmp_path: Path) -> None:
    socket = tmp_path / "helper.sock"
    with helper_process(socket, node_id=NODE, secret=SECRET):
        async with small_agent(socket) as url, linked(url) as first:
            await until(lambda: first.state(NODE)[0] == "up")
            async with linked(url) as second:
                await until(lambda: second.state(NODE)[0] == "up")
                await until(lambda: "Another hub" in (first.state(NODE)[1] or ""))
                assert second.state(NODE)[0] == "up"


async def test_a_hub_without_the_secret_is_refused(tmp_path: Path) -> None:
    async def wrong() -> str:
        return "w" * 64

    socket = tmp_path / "helper.sock"
    with helper_process(socket, node_id=NODE, secret=SECRET):
        async with small_agent(socket) as url, linked(url, wrong) as helpers:
            await until(lambda: helpers.state(NODE)[0] == "refused")
            assert "secret" in (helpers.state(NODE)[1] or "")


@contextlib.asynccontextmanager
async def impostor(*, protocol: int = PROTOCOL, node_id: str = NODE, knows: str = "x") -> AsyncIterator[str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        mine = nonce()
        encode = msgspec.msgpack.encode
        await ws.send_bytes(encode(Challenge(protocol=protocol, version="9.9", node_id=node_id, nonce=mine)))
        message = await ws.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            answer = msgspec.msgpack.decode(message.data, type=Answer | Refused)
            assert isinstance(answer, Answer)
            hello = Hello(
                proof=proof(knows, "helper", NODE, mine, answer.nonce),
                pid=1, start_ns=1, python_version="", ray_version=None, debugpy_version=None, pyspy_version=None,
                ptrace="no rights", env={},
            )  # fmt: skip
            await ws.send_bytes(encode(hello))
            async for _ in ws:
                pass
        return ws

    app = web.Application()
    app.router.add_get(AGENT_HELPER_PATH, handle)
    runner = runner_of(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_helper_without_the_secret_is_not_trusted() -> None:
    async with impostor() as url, linked(url) as helpers:
        await until(lambda: helpers.state(NODE)[0] == "refused")
        assert "not trusted" in (helpers.state(NODE)[1] or "")


@pytest.mark.parametrize(
    ("protocol", "state"), [(PROTOCOL - 1, "up"), (PROTOCOL + 1, "refused"), (PROTOCOL - 2, "refused")]
)
async def test_protocols(protocol: int, state: str) -> None:
    async with impostor(protocol=protocol, knows=SECRET) as url, linked(url) as helpers:
        await until(lambda: helpers.state(NODE)[0] == state)
        note = helpers.state(NODE)[1] or ""
        if state == "up":
            assert note == "no rights"
        else:
            assert "9.9" in note
            assert "pip install -U raydebug" in note
            assert NODE[:8] in note


async def test_an_agent_without_our_route_lacks_raydebug() -> None:
    runner = runner_of(web.Application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with linked(f"http://127.0.0.1:{runner.addresses[0][1]}") as helpers:
        await until(lambda: helpers.state(NODE)[0] == "missing")
        assert "pip install raydebug" in (helpers.state(NODE)[1] or "")
        await helpers.sync([])
        assert helpers.state(NODE)[0] == "connecting"
        assert helpers.summary() == (0, 0)
    await runner.cleanup()


def test_notes() -> None:
    assert note_for_status(401, "", NODE).state == "refused"
    down = note_for_status(503, "its log: /x", NODE)
    assert (down.state, down.note) == ("connecting", f"The helper on node {NODE[:8]} isn't up: its log: /x")
    assert note_for_status(500, "", NODE).retry_s is None


async def test_no_agent_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", (0.05,))
    async with linked("http://127.0.0.1:9") as helpers:
        await until(lambda: "can't be reached" in (helpers.state(NODE)[1] or ""))
        assert helpers.state(NODE)[0] == "connecting"


async def test_the_helper_ends_with_its_parents_pipe(tmp_path: Path) -> None:
    with helper_process(tmp_path / "s", node_id=NODE, secret=SECRET) as child:
        assert child.stdin is not None
        child.stdin.close()
        assert await asyncio.to_thread(child.wait, 10) == 0
