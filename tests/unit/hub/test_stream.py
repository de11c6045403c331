"""The live websocket: what a client sees, what a stalled or broken one can do to others."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raydebug.api.names import ROUTE_HEADER
from raydebug.api.stream import Hello, Patch, Ping, Pong, Subscribe, Topic, Unsubscribe
from raydebug.hub.access.caller import Caller
from raydebug.hub.model.store import TOPIC_TABLES, Store, Table
from raydebug.hub.model.views import ALL, Sight, visible
from raydebug.hub.stream import frames
from raydebug.hub.stream.publisher import Publisher
from tests.unit.hub import rows
from tests.unit.hub.conftest import Live, Serve, Served

KEYS = {
    "nodes": "node_id",
    "jobs": "job_id",
    "groups": "group_id",
    "actors": "actor_id",
    "sources": "name",
    "paused": "site_id",
}

Tables = dict[str, dict[str, msgspec.Struct]]


def apply(tables: Tables, patch: Patch) -> None:
    """What every client does with a patch."""
    if patch.full:
        for name in TOPIC_TABLES[patch.topic]:
            tables.pop(name, None)
    for name in patch.tables.__struct_fields__:
        change = getattr(patch.tables, name)
        if change is not None:
            table = tables.setdefault(name, {})
            for key in change.drop:
                del table[key]
            table.update({getattr(row, KEYS[name]): row for row in change.set})


def shown(store: Store, topic: Topic, sight: Sight = ALL) -> Mapping[str, Table]:
    return {name: visible(name, table, sight) for name, table in store.topic_tables(topic).items()}


async def test_full_patch_then_changes(served: Served) -> None:
    async with served.socket() as live:
        welcome = await live.greet()
        assert (welcome.role, welcome.how, welcome.session_name) == ("anonymous", "none", "session")
        await live.say(Subscribe(topic="topology"))
        patch = await live.patch()
        tables: Tables = {}
        apply(tables, patch)
        assert patch.full
        unread = Sight(messages=False)
        assert tables == shown(served.store, "topology", unread)
        actors = dict(served.store.table("actors"))
        del actors["b0"]
        actors["a0"] = rows.actor("a0", group_id="g1", rank=0, task="update")
        served.store.replace("actors", actors)
        patch = await live.patch()
        assert not patch.full
        assert patch.tables.actors is not None
        assert (len(patch.tables.actors.set), patch.tables.actors.drop) == (1, ["b0"])
        assert patch.tables.nodes is None
        apply(tables, patch)
        assert tables == shown(served.store, "topology", unread)
        await live.say(Unsubscribe(topic="topology"))
        await live.say(Ping(t=3.0))
        assert await live.hear() == Pong(t=3.0)
        served.store.replace("nodes", {})
        await asyncio.sleep(0.2)
        await live.say(Ping(t=4.0))
        assert await live.hear() == Pong(t=4.0)


async def test_a_grant_for_one_job_shows_that_job(served: Served) -> None:
    from raydebug.api.access import GrantRequest

    maker = Caller(role="debugger", how="token", peer="")
    only = rows.JOBS[1]
    request = GrantRequest(role="viewer", name="x", jobs=[only])
    token = served.hub.access.make_grant(maker, request, "").token
    async with served.socket(token) as live, served.socket() as other:
        for viewer in (live, other):
            await viewer.greet()
            await viewer.say(Subscribe(topic="topology"))
            await viewer.say(Subscribe(topic="paused"))
        patches = {patch.topic: patch for patch in (await live.patch(), await live.patch())}
        for topic, patch in patches.items():
            tables: Tables = {}
            apply(tables, patch)
            assert tables == shown(served.store, topic, Sight(frozenset({only})))
        assert rows.JOBS[0] not in str(patches)
        assert [await other.patch(), await other.patch()]
        # a change in the other job says nothing to the limited viewer
        actors = dict(served.store.table("actors"))
        actors["b0"] = rows.actor("b0", task="secret")
        served.store.replace("actors", actors)
        await other.patch()
        await live.say(Ping(t=1.0))
        assert await live.hear() == Pong(t=1.0)
    for path in ("topology", "paused", f"topology?job={only}"):
        async with served.get(f"/debug/api/v1/{path}", **{"X-Raydebug-Token": token}) as answer:
            assert answer.status == 200
            text = await answer.text()
            assert rows.JOBS[0] not in text
            assert only in text
    async with served.get(f"/debug/api/v1/topology?job={rows.JOBS[0]}", **{"X-Raydebug-Token": token}) as answer:
        assert answer.status == 404


@pytest.mark.parametrize(
    "first", [b"", b"\x00", b"\xff" * 100, msgspec.msgpack.encode({"type": "subscribe", "topic": "topology"})]
)
async def test_anything_but_hello_first_is_refused(served: Served, first: bytes) -> None:
    async with served.socket() as live:
        await live.ws.send_bytes(first)
        assert await live.refused() == "bad_message"
        assert live.ws.close_code == 1003


async def test_broken_rules_end_the_connection(served: Served) -> None:
    async with served.socket() as live:
        await live.ws.send_str("hello")
        assert await live.refused() == "bad_message"
    async with served.socket() as live:
        await live.say(Hello(protocol=99))
        assert await live.refused() == "protocol"
    async with served.socket() as live:
        await live.greet()
        await live.say(Hello(protocol=1))
        assert await live.refused() == "bad_message"
    async with served.socket() as live:
        await live.greet()
        await live.ws.send_bytes(b"x" * (1 << 20) + b"more")
        assert (await live.ws.receive(timeout=5)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        assert live.ws.close_code == 1009
    assert served.hub.live.connections == 0


async def test_silence_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raydebug.hub.stream.connection.HELLO_S", 0.1)
    async with served.socket() as live:
        assert await live.refused() == "no_hello"


_wrong = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(-9, 9), inner),
    max_leaves=20,
)
_almost = st.fixed_dictionaries(
    {"type": st.sampled_from(["hello", "subscribe", "ping", "make_grant", "revoke_grant", "nonsense"])},
    optional=dict.fromkeys(("topic", "t", "id", "grant", "grant_id", "protocol", "token"), _wrong),
)
_frame = st.binary() | (_wrong | _almost).map(msgspec.msgpack.encode)


async def test_no_frame_harms_the_hub(served: Served) -> None:
    async def attack(frame: bytes, greet: bool) -> None:
        async with served.socket() as live:
            if greet:
                await live.greet()
            await live.ws.send_bytes(frame)
            await live.say(Ping(t=1.0))
            while (answer := await live.hear()) is not None and answer != Pong(t=1.0):
                pass

    loop = asyncio.get_running_loop()

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(frame=_frame, greet=st.booleans())
    def fuzz(frame: bytes, greet: bool) -> None:
        asyncio.run_coroutine_threadsafe(attack(frame, greet), loop).result(10)

    await asyncio.to_thread(fuzz)
    async with served.socket() as live:
        await live.greet()
    assert served.hub.live.connections <= 1


def _upgrade(path: str) -> socket.socket:
    """A websocket of bare bytes that says hello, subscribes, and never reads."""
    sock = socket.socket(socket.AF_UNIX)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(path)
    sock.sendall(
        b"GET /debug/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        + f"{ROUTE_HEADER}: open\r\n\r\n".encode()
    )
    head = b""
    while b"\r\n\r\n" not in head:
        head += sock.recv(1)
    for message in (Hello(protocol=1), Subscribe(topic="topology")):
        data = msgspec.msgpack.encode(message)
        sock.sendall(bytes((0x82, 0x80 | len(data))) + bytes(4) + data)
    return sock


def _crowd(store: Store, number: int, task: str = "t") -> None:
    store.replace("actors", {f"a{i}": rows.actor(f"a{i}", rank=i, task=f"{task}{i % 7}") for i in range(number)})


async def test_a_stalled_viewer_slows_nobody_and_costs_little(served: Served) -> None:
    _crowd(served.store, 2000)
    stalled = await asyncio.to_thread(_upgrade, str(served.hub.config.socket))
    try:
        async with served.socket() as live:
            await live.greet()
            await live.say(Subscribe(topic="topology"))
            assert (await live.patch()).full
            latencies = []
            for turn in range(30):
                _crowd(served.store, 2000, f"turn{turn}-")
                start = time.monotonic()
                patch = await live.patch()
                latencies.append(time.monotonic() - start)
                assert not patch.full
            assert sorted(latencies)[len(latencies) // 2] < 0.15
            connection = next(c for c in served.hub.live._connections if not c.ready())
            held = connection._transport.get_write_buffer_size()
            whole = len(frames._encoder.encode(patch))
            assert held < 3 * whole  # one patch, not thirty
            counts = served.hub.publisher.counts
            assert counts.skipped > 10
            # it reads again, and gets one full patch with what is true now
            before = counts.resyncs

            def read() -> None:
                stalled.settimeout(0.5)
                try:
                    while stalled.recv(1 << 16):
                        pass
                except TimeoutError:
                    pass

            await asyncio.to_thread(read)
            assert counts.resyncs == before + 1
    finally:
        stalled.close()


async def test_compressed_frames_arrive_whole(served: Served) -> None:
    """aiohttp's client inflates them; a client that doesn't offer compression gets plain ones."""
    _crowd(served.store, 500)
    tables: list[Tables] = []
    for compress in (15, 0):
        async with served.session.ws_connect("http://localhost/debug/ws", compress=compress) as ws:
            live = Live(ws)
            await live.greet()
            await live.say(Subscribe(topic="topology"))
            mine: Tables = {}
            apply(mine, await live.patch())
            for turn in range(3):
                _crowd(served.store, 500, f"{compress}{turn}-")
                apply(mine, await live.patch())
            assert mine == shown(served.store, "topology", Sight(messages=False))
            tables.append(mine)
    made = await frames.frame_for_many(Pong(t=1.0), deflate=True)
    assert made.packed is None


class _Viewer:
    """A viewer whose socket drains when the test says so."""

    deflate = False

    def __init__(self, sight: Sight) -> None:
        self.sight = sight
        self.drained = True
        self.tables: Tables = {}

    def ready(self) -> bool:
        return self.drained

    def send(self, frame: frames.Frame) -> None:
        size = frame.plain[1]
        start = {126: 4, 127: 10}.get(size, 2)
        apply(self.tables, msgspec.msgpack.decode(frame.plain[start:], type=Patch))


_actors = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.tuples(st.sampled_from(rows.JOBS), st.sampled_from([None, "x", "y"]))
)
_sites = st.dictionaries(
    st.sampled_from(["s", "t"]), st.lists(st.sampled_from([*rows.JOBS, None]), min_size=1, max_size=3)
)
_act = st.one_of(
    st.tuples(st.just("actors"), _actors),
    st.tuples(st.just("paused"), _sites),
    st.tuples(st.just("publish"), st.none()),
    st.tuples(st.just("stall"), st.integers(0, 2)),
    st.tuples(st.just("drain"), st.integers(0, 2)),
    st.tuples(st.just("again"), st.integers(0, 2)),
)


@settings(max_examples=200, deadline=None)
@given(acts=st.lists(_act, max_size=30))
def test_patches_always_lead_to_the_same_tables(acts: list[tuple[str, Any]]) -> None:
    async def play() -> None:
        store = Store()
        publisher = Publisher(store)
        viewers = [_Viewer(ALL), _Viewer(Sight(messages=False)), _Viewer(Sight(frozenset({rows.JOBS[0]})))]
        topics: tuple[Topic, ...] = tuple(TOPIC_TABLES)
        for viewer in viewers:
            for topic in topics:
                publisher.subscribe(viewer, topic)
        for kind, value in acts:
            if kind == "actors":
                store.replace("actors", {key: rows.actor(key, job, task=task) for key, (job, task) in value.items()})
            elif kind == "paused":
                sites = {
                    key: rows.site(key, *(rows.thread(f"w{i}", job, i) for i, job in enumerate(jobs)))
                    for key, jobs in value.items()
                }
                store.replace("paused", sites)
            elif kind == "publish":
                await publisher.publish()
            elif kind == "again":
                publisher.unsubscribe(viewers[value], "topology")
                publisher.subscribe(viewers[value], "topology")
            else:
                viewers[value].drained = kind == "drain"
        for viewer in viewers:
            viewer.drained = True
        await publisher.publish()
        await publisher.publish()
        for viewer in viewers:
            for topic in topics:
                want = shown(store, topic, viewer.sight)
                assert {name: viewer.tables[name] for name in want} == want

    asyncio.run(play())


async def test_the_hub_says_goodbye(serve: Serve) -> None:
    served = await serve()
    async with served.socket() as live:
        await live.greet()
        stalled = await asyncio.to_thread(_upgrade, str(served.hub.config.socket))
        start = time.monotonic()
        stopping = asyncio.create_task(served.hub.stop())
        assert await live.hear() is None
        assert live.ws.close_code in (1012, 1000)  # aiohttp 3.8 says 1000 for a close that another task asked for
        await stopping
        assert time.monotonic() - start < 3
        stalled.close()
    assert served.hub.config.socket is not None
    assert not served.hub.config.socket.exists()
