"""Clients of ``/debug/ws`` that ask anything of a real session: clear errors, and nothing else is disturbed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

import aiohttp
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raydebug.api.debug import Command, DebugSession
from raydebug.api.names import PROTOCOL, ROUTE_HEADER
from raydebug.api.stream import Debug, Hello, HubMessage, Reply
from raydebug.hub.access.token import read_token
from raydebug.hub.app import Config, Hub
from raydebug.hub.debugger.broker import Broker
from raydebug.hub.debugger.keepers import Keepers
from raydebug.hub.model.store import Store
from tests.support.keeper import SECRET, Desk, agent, debuggee
from tests.unit.dap.test_framing import json_values

T = TypeVar("T")
WORKER = "cd" * 28
CLEAR = {"bad_query", "unknown", "gone", "running", "busy", "failed"}
decode = msgspec.msgpack.Decoder(HubMessage).decode


class Viewer:
    """One websocket; answers are taken by number."""

    def __init__(self, ws: Any) -> None:
        self.ws = ws
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._number = 0
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for frame in self.ws:
            message = decode(frame.data)
            if isinstance(message, Reply) and (waiting := self._waiting.pop(message.id, None)) is not None:
                waiting.set_result(message)

    async def begin(self, command: str, arguments: Any, worker_id: str = WORKER) -> asyncio.Future[Reply]:
        self._number += 1
        waiting: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = waiting
        message = Debug(id=self._number, worker_id=worker_id, command=command, arguments=arguments)
        await self.ws.send_bytes(msgspec.msgpack.encode(message))
        return waiting

    async def ask(self, command: str, arguments: Any, worker_id: str = WORKER, timeout: float = 30) -> Reply:
        return await asyncio.wait_for(await self.begin(command, arguments, worker_id), timeout)


class Stage:
    """A hub on a socket with a real keeper and a real, stopped worker, in a loop of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(60)

    def do(self, work: Coroutine[Any, Any, T], timeout: float = 60) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)

    def _run(self) -> None:
        self._loop.run_until_complete(self._play())

    async def _play(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            node = await stack.enter_async_context(agent(self._directory))
            self.child, port = await stack.enter_async_context(debuggee())
            finder = Desk(self._directory / "unused", {WORKER: port})
            store = Store()

            async def secret() -> str:
                return SECRET

            def publish(rows: dict[str, DebugSession]) -> None:
                store.replace("sessions", rows)

            def made(access: Any) -> Broker:
                self.broker = Broker(
                    finder._find,
                    lambda found: Keepers(secret, found),
                    publish,
                    access.audit,
                    600.0,
                )
                return self.broker

            self.session_dir = self._directory / "session"
            socket = self._directory / "hub.sock"
            config = Config(gcs_address="127.0.0.1:1", session_dir=self.session_dir, socket=socket)
            hub = Hub(config, store, debugger=made)
            await hub.start()
            stack.push_async_callback(hub.stop)
            stack.push_async_callback(self.broker.close)
            await self.broker.keepers.sync([node.address()])
            connector = aiohttp.UnixConnector(str(socket), limit=0)
            self._http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
            self.viewer = await self.connect()
            assert (await self.viewer.ask("attach", {})).error is None
            await self.good()
            self._ready.set()
            await self._over.wait()

    async def connect(self, token: bool = True) -> Viewer:
        ws = await self._http.ws_connect("http://localhost/debug/ws", headers={ROUTE_HEADER: "open"}, max_msg_size=0)
        own = read_token(self.session_dir / "raydebug" / "token") if token else None
        await ws.send_bytes(msgspec.msgpack.encode(Hello(protocol=PROTOCOL, token=own)))
        await ws.receive(timeout=10)
        return Viewer(ws)

    async def good(self) -> None:
        """The session is as it was: stopped or stopping again, and it answers. Where it ended, it is begun anew."""
        deadline = time.monotonic() + 30
        while True:
            session = self.broker.sessions[WORKER]
            at = [one for one in session.threads.values() if one.stopped and one.frames]
            if at:
                frame = at[0].frames[0].id
                reply = await self.viewer.ask("evaluate", {"expression": "len(items)", "frameId": frame})
                if reply.error is None and reply.debug["result"] == "1000":
                    return
            assert time.monotonic() < deadline, (session.state, session.note)
            await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("ws"))
    yield made
    made.close()


KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "threadId": st.sampled_from([1, 1, 1, 2, 99, -1, 0, 2**53, 2**63]),
    "frameId": st.sampled_from([1, 2, 3, 4, 99, -1, 2**62]),
    "variablesReference": st.sampled_from([0, 1, 2, 1000, 1_000_001, -1]),
    "start": st.sampled_from([0, -5, 10**9, 2**60]),
    "count": st.sampled_from([0, -5, 10**9, 2**60]),
    "startFrame": st.sampled_from([0, -1, 10**9]),
    "levels": st.sampled_from([0, -1, 10**9]),
    "expression": st.sampled_from(["1", "", "(", "1/0", "x" * 99_000, "x" * 100_001, "\0", "'@LINE@'", "a[::"]),
    "context": st.sampled_from(["repl", "watch", "hover", "clipboard", ""]),
    "evaluateName": st.sampled_from(["items", "", "1", "a b", "items[0]", "\n"]),
    "value": st.sampled_from(["items", "", ")", "1\n", "yield"]),
    "text": st.sampled_from(["", "ite", "\0", "x" * 99_000]),
    "column": st.sampled_from([0, 1, -1, 10**9]),
    "path": st.sampled_from(["", "/", "/nowhere.py", __file__, "\0", "x" * 9000, "../..", "<string>", "C:\\x.py"]),
    "line": st.sampled_from([0, -1, 1, 40, 10**7, 10**9, 2**62]),
    "breakpoints": st.lists(
        st.dictionaries(
            st.sampled_from(["line", "condition", "hitCondition", "logMessage", "enabled", "other"]),
            st.sampled_from([1, 3, -1, 10**9, True, "", "1/0", "x" * 1900, "{", "{items[", "%0", ">=x", "\0", None]),
            max_size=4,
        ),
        max_size=3,
    ),
    "names": st.sampled_from([[], [""], ["f"], ["x" * 400], ["a.b", "\0"], [1]]),
    "filters": st.sampled_from([[], ["uncaught"], ["nonsense"], [1], ["raised", "uncaught", "userUnhandled"]]),
    "types": st.sampled_from([[], ["ValueError"], ["a b"], [""], [None]]),
    "limit": st.sampled_from([0, -1, 10**9]),
    "since": st.sampled_from([0, -1, 10**9, 2**63]),
    "all": st.booleans(),
    "targetId": st.sampled_from([0, 1, -1, 2**60]),
    "view": st.sampled_from(["statistics", "heat", "", "table"]),
    "function": st.just("free_all"),
}
PLAIN = json_values | st.binary(max_size=3) | st.builds(msgspec.msgpack.Ext, st.integers(0, 9), st.binary(max_size=3))
# Mostly all that a command may take is there, and sound enough to reach the worker.
ARGUMENTS = st.fixed_dictionaries(KNOWN) | st.fixed_dictionaries({}, optional=KNOWN)
COMMANDS = sorted(set(get_args(Command)) - {"detach"})


def encodes(value: Any) -> bool:
    try:
        msgspec.msgpack.encode(value)
    except (OverflowError, ValueError, TypeError):
        return False
    return True


@pytest.mark.parametrize("command", COMMANDS)
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_any_arguments(stage: Stage, command: str, data: st.DataObject) -> None:
    """Every command with arguments right, wrong and absurd: an answer or a clear error, soon."""
    arguments = data.draw(ARGUMENTS | st.dictionaries(st.sampled_from(sorted(KNOWN)) | st.text(), PLAIN, max_size=4))
    if not encodes(arguments):
        return
    reply = stage.do(stage.viewer.ask(command, arguments))
    if reply.error is not None:
        assert reply.error.code in CLEAR, reply.error
        assert 3 < len(reply.error.message) < 3000
    assert not stage.viewer.reading.done()


@pytest.fixture(autouse=True)
def _good_afterwards(stage: Stage) -> Iterator[None]:
    yield
    stage.do(_cleared(stage))


async def _cleared(stage: Stage) -> None:
    """Breakpoints that a test set must not stop what comes after it; and the session is well."""
    for path in list(stage.broker.sessions[WORKER].breakpoints.wanted.lines):
        assert (await stage.viewer.ask("setBreakpoints", {"path": path, "breakpoints": []})).error is None
    await stage.viewer.ask("setFunctionBreakpoints", {"names": []})
    await stage.viewer.ask("setExceptionBreakpoints", {"filters": ["uncaught"]})
    await stage.good()


@given(command=st.text() | st.sampled_from(["loadedSources", "Attach", "__class__", "readMemory", "cancel"]))
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_unknown_commands(stage: Stage, command: str) -> None:
    if command in get_args(Command) or not encodes(command):
        return
    reply = stage.do(stage.viewer.ask(command, {}))
    assert reply.error is not None
    assert reply.error.code == "bad_query"


def test_workers_that_arent_there(stage: Stage) -> None:
    for worker_id in ("", "x" * 100_000, "ee" * 28, "../..", "\0"):
        for command in ("attach", "evaluate", "detach", "console"):
            reply = stage.do(stage.viewer.ask(command, {"expression": "1"}, worker_id))
            assert reply.error is not None
            assert reply.error.code == "unknown"
            assert len(reply.error.message) < 500


def test_nobody_without_the_right(stage: Stage) -> None:
    anonymous = stage.do(stage.connect(token=False))
    for command in get_args(Command):
        reply = stage.do(anonymous.ask(command, {"expression": "1"}))
        assert reply.error is not None
        assert reply.error.code == "role_too_low"


def test_values_that_no_message_can_hold(stage: Stage) -> None:
    for expression in ("2**200", "float('nan')", "'\\ud800'", "b'\\xff'", "'x' * 10**8", "[[]] * 10**6", "{1: 2**70}"):
        reply = stage.do(stage.viewer.ask("evaluate", {"expression": expression}))
        assert reply.error is None or reply.error.code in CLEAR
        assert reply.error is not None or len(reply.debug["result"]) < 200_000


def test_ten_thousand_questions_at_once(stage: Stage) -> None:
    """All are answered, most of them by a refusal; another viewer hardly notices."""

    async def flood() -> None:
        greedy, other = await stage.connect(), await stage.connect()
        began = time.monotonic()
        waiting = [await greedy.begin("evaluate", {"expression": f"{n} + 1"}) for n in range(10_000)]
        asked = time.monotonic()
        patient = await other.ask("console", {})
        assert patient.error is None
        assert time.monotonic() - asked < 10
        replies = await asyncio.wait_for(asyncio.gather(*waiting), 60)
        assert len(replies) == 10_000
        codes = {reply.error.code for reply in replies if reply.error is not None}
        assert codes <= {"bad_query", "busy"}
        done = [number for number, reply in enumerate(replies) if reply.error is None]
        assert len(done) >= 64
        assert all(replies[number].debug["result"] == str(number + 1) for number in done)
        print(f"{len(done)} of 10,000 evaluated, all answered in {time.monotonic() - began:.1f} s")

    stage.do(flood(), 120)


def test_a_client_that_doesnt_read_its_answers(stage: Stage) -> None:
    async def deaf() -> None:
        viewer = await stage.connect()
        viewer.reading.cancel()
        for _ in range(2000):
            await viewer.ws.send_bytes(
                msgspec.msgpack.encode(Debug(id=1, worker_id=WORKER, command="messages", arguments={"since": 0}))
            )
            if viewer.ws._writer.transport.get_write_buffer_size() > 1 << 16:
                break
        await stage.good()
        viewer.ws._response.connection.transport.abort()

    stage.do(deaf(), 120)
