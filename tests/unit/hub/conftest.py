"""A real hub on real sockets, with a store filled by hand."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from raydebug.api.doctor import DoctorReport
from raydebug.api.names import PROTOCOL, ROUTE_HEADER
from raydebug.api.stream import Hello, HubMessage, Patch, Refused, Welcome
from raydebug.hub.access.token import read_token
from raydebug.hub.app import Config, Hub
from raydebug.hub.model.store import Store
from tests.unit.hub import rows

_decoder = msgspec.msgpack.Decoder(HubMessage)


class Served:
    """A running hub, reached as the gateway does (``session``) and as a browser does (``direct``)."""

    def __init__(self, hub: Hub, session: aiohttp.ClientSession, direct: aiohttp.ClientSession) -> None:
        self.hub = hub
        self.store = hub.store
        self.session = session
        self.direct = direct
        self.token = read_token(hub.config.session_dir / "raydebug" / "token")
        self.base = f"http://127.0.0.1:{hub.port}"

    def get(self, path: str, **headers: str) -> Any:
        """Over the gateway's socket, as with Ray's token mode off."""
        return self.session.get(f"http://localhost{path}", headers={ROUTE_HEADER: "open", **headers})

    @contextlib.asynccontextmanager
    async def socket(self, token: str | None = None, **headers: str) -> AsyncIterator[Live]:
        url = "http://localhost/debug/ws"
        async with self.session.ws_connect(url, headers={ROUTE_HEADER: "open", **headers}, compress=15) as ws:
            yield Live(ws, token)


class Live:
    """The client's side of ``/debug/ws``."""

    def __init__(self, ws: Any, token: str | None = None) -> None:
        self.ws = ws
        self.token = token

    async def say(self, message: msgspec.Struct) -> None:
        await self.ws.send_bytes(msgspec.msgpack.encode(message))

    async def hear(self, timeout: float = 5) -> HubMessage | None:
        """The next message; None when the hub has closed."""
        got = await self.ws.receive(timeout=timeout)
        return _decoder.decode(got.data) if got.type is aiohttp.WSMsgType.BINARY else None

    async def greet(self) -> Welcome:
        await self.say(Hello(protocol=PROTOCOL, token=self.token))
        answer = await self.hear()
        assert isinstance(answer, Welcome), answer
        return answer

    async def patch(self) -> Patch:
        answer = await self.hear()
        assert isinstance(answer, Patch), answer
        return answer

    async def refused(self) -> str:
        """The code of the refusal that comes next, with the end of the socket."""
        answer = await self.hear()
        assert isinstance(answer, Refused), answer
        assert await self.hear() is None
        return answer.error.code


def fill(store: Store) -> None:
    store.replace("nodes", {"node0": rows.node()})
    store.replace("jobs", {name: rows.job(name) for name in rows.JOBS})
    store.replace("groups", {"g1": rows.group()})
    members = [rows.actor("a1", group_id="g1", rank=1), rows.actor("a0", group_id="g1", rank=0)]
    others = [rows.actor("b0"), rows.actor("c0", rows.JOBS[1])]
    store.replace("actors", {item.actor_id: item for item in (*members, *others)})
    store.replace("sources", {"gcs": rows.source()})
    both = rows.site("s1", rows.thread("w1", rows.JOBS[0], 7), rows.thread("w2", rows.JOBS[1], 3))
    store.replace("paused", {"s1": both, "s2": rows.site("s2", rows.thread("w3", None))})


async def no_checks() -> DoctorReport:
    return DoctorReport(time_ns=1, checks=[])


Serve = Callable[..., Awaitable[Served]]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Start a hub: ``await serve(everybody_debugger=True)``."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(sources: Any = (), debugger: Any = None, **config: Any) -> Served:
            given = {"gcs_address": "127.0.0.1:1", "session_dir": tmp_path / "session", "port": 0, **config}
            given.setdefault("socket", tmp_path / "hub.sock")
            store = Store()
            fill(store)
            hub = Hub(Config(**given), store, sources=sources, doctor=no_checks, debugger=debugger)
            await hub.start()
            stack.push_async_callback(hub.stop)
            connector = aiohttp.UnixConnector(str(given["socket"]), limit=0)
            session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            direct = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
            return Served(hub, session, direct)

        yield start


@pytest.fixture
async def served(serve: Serve) -> Served:
    return await serve()
