"""The debugger without Ray: real keepers behind the agent's own spawner, real debuggees, and a hub's broker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import aiohttp
import msgspec
from aiohttp import web

from raydebug.api.debug import DebugSession
from raydebug.api.keeper import (
    Event,
    HubToKeeper,
    KeeperToHub,
    KeptSession,
    Open,
    Opened,
    Request,
    Response,
    Snapshot,
)
from raydebug.api.names import AGENT_KEEPER_PATH
from raydebug.hub.access.audit import AuditLog
from raydebug.hub.access.caller import Caller
from raydebug.hub.debugger.broker import Broker
from raydebug.hub.debugger.keepers import Keepers
from raydebug.hub.debugger.target import Target
from raydebug.hub.nodes.dial import NodeAddress, dial, prove
from raydebug.plugin.agent import Spawner
from tests.support.plugin import runner_of

T = TypeVar("T")

NODE = "ab" * 28
SECRET = "s" * 64
DEBUGGEE = Path(__file__).parent.parent / "process" / "debuggee.py"
SOMEBODY = Caller(role="debugger", how="token", peer="127.0.0.1")

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(KeeperToHub).decode


async def until(probe: Callable[[], T | None], timeout: float = 15, what: str = "it") -> T:
    """What ``probe`` gives, once that is true."""
    deadline = time.monotonic() + timeout
    while not (found := probe()):
        assert time.monotonic() < deadline, f"waited {timeout:g} s for {what}"
        await asyncio.sleep(0.01)
    return found


class Child:
    """A process that says lines of JSON; each line that was heard is in ``said``."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[dict[str, Any]] = []
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            if line.startswith(b"{"):
                self.said.append(json.loads(line))

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")

    async def hear(self, key: str, value: Any = None, timeout: float = 15) -> dict[str, Any]:
        """The first line with ``key`` (and this value)."""

        def heard() -> dict[str, Any] | None:
            return next((one for one in self.said if key in one and value in (None, one[key])), None)

        return await until(heard, timeout, f"{key} {value}")

    def rounds(self) -> int:
        """How often it went on after its breakpoint."""
        return sum("went_on" in one for one in self.said)

    async def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self._task.cancel()


@contextlib.asynccontextmanager
async def debuggee(python: str = sys.executable) -> AsyncIterator[tuple[Child, int]]:
    """A process that listens with debugpy and stops at a breakpoint, and its port."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        python, str(DEBUGGEE), stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=1 << 26
    )
    child = Child(process)
    try:
        yield child, (await child.hear("port"))["port"]
    finally:
        await child.stop()


class Agent:
    """What our module does in Ray's agent, without Ray."""

    def __init__(self, spawner: Spawner, url: str) -> None:
        self.spawner = spawner
        self.url = url

    @property
    def keeper_pid(self) -> int | None:
        return self.spawner.keeper.pid

    def address(self) -> NodeAddress:
        return NodeAddress(NODE, self.url)


class _Spawner(Spawner):
    async def greeting(self) -> bytes:
        """There is no GCS to ask."""
        return json.dumps({"node_id": NODE, "secret": SECRET}).encode() + b"\n"


@contextlib.asynccontextmanager
async def agent(directory: Path) -> AsyncIterator[Agent]:
    """Its keeper is started by who first connects, and ends with this."""
    os.makedirs(directory, exist_ok=True)
    spawner = _Spawner(SimpleNamespace(node_id=NODE, session_dir=str(directory), log_dir=str(directory)))
    app = web.Application()
    app.router.add_get(AGENT_KEEPER_PATH, spawner.handle_keeper)
    runner = runner_of(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    running = asyncio.create_task(spawner._run_keeper())
    try:
        yield Agent(spawner, f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        await runner.cleanup()


class RawHub:
    """The hub's side of a keeper's websocket, message by message."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.kept: dict[str, KeptSession] = {}
        self.heard: list[Any] = []
        self._tag = 0

    async def say(self, message: HubToKeeper) -> None:
        await self.ws.send_bytes(encode(message))

    async def hear(self, kind: type[T], timeout: float = 15) -> T:
        """The next message of this kind; others before it are only noted."""

        async def find() -> T:
            while True:
                frame = await self.ws.receive()
                assert frame.type is aiohttp.WSMsgType.BINARY, frame
                message = decode(frame.data)
                self.heard.append(message)
                if isinstance(message, kind):
                    return message

        return await asyncio.wait_for(find(), timeout)

    async def snapshot(self) -> None:
        more = True
        while more:
            part = await self.hear(Snapshot)
            self.kept.update({kept.session: kept for kept in part.sessions})
            more = part.more

    async def attach(self, session: str, port: int) -> None:
        """Up to ``configurationDone``, each thread stopping alone."""
        await self.say(Open(session=session, host="127.0.0.1", port=port))
        assert (await self.hear(Opened)).error is None
        assert (await self.ask(session, "initialize", adapterID="x", pathFormat="path")).success
        alone = {"stopAllThreadsOnSuspend": False, "steppingResumesAllThreads": False}
        await self.begin(session, "attach", justMyCode=False, redirectOutput=True, **alone)
        await self.event("initialized")
        assert (await self.ask(session, "configurationDone")).success

    async def event(self, name: str, holding: bytes = b"") -> Event:
        """The first of this name, of those that were heard already, too."""
        at = 0
        while True:
            for message in self.heard[at:]:
                if isinstance(message, Event) and message.event.event == name and holding in message.event.body:
                    return message
            at = len(self.heard)
            await self.hear(Event)

    async def ask(self, session: str, command: str, timeout: float = 15, **arguments: Any) -> Response:
        tag = await self.begin(session, command, **arguments)
        while (answer := await self.hear(Response, timeout)).tag != tag:
            pass
        return answer

    async def begin(self, session: str, command: str, **arguments: Any) -> int:
        self._tag += 1
        await self.say(
            Request(session=session, tag=self._tag, command=command, arguments=msgspec.json.encode(arguments))
        )
        return self._tag


@contextlib.asynccontextmanager
async def raw_hub(agent: Agent, secret: str = SECRET, path: str = AGENT_KEEPER_PATH) -> AsyncIterator[RawHub]:
    """Connected, and the snapshot is taken. Raises Unreachable."""
    async with aiohttp.ClientSession() as http:
        ws = await dial(http, agent.address(), path, "keeper", 64 << 20)
        await prove(ws, NODE, secret, decode, "keeper")
        hub = RawHub(ws)
        await hub.snapshot()
        try:
            yield hub
        finally:
            # At once, as a hub that is killed does.
            if ws._response.connection is not None and ws._response.connection.transport is not None:
                ws._response.connection.transport.abort()


class Desk:
    """A hub's broker, and the rows it shows. ``targets``: worker -> port."""

    def __init__(self, directory: Path, targets: dict[str, int], lease_s: float = 600.0) -> None:
        self.targets = targets
        self.rows: dict[str, DebugSession] = {}
        self.published = 0
        self.broker = Broker(
            self._find, lambda found: Keepers(_secret, found), self._publish, AuditLog(directory), lease_s
        )

    async def _find(self, worker_id: str) -> Target | None:
        port = self.targets.get(worker_id)
        if port is None:
            return None
        return Target(
            worker_id=worker_id,
            worker_type="worker",
            node_id=NODE,
            host="127.0.0.1",
            port=port,
            pid=os.getpid(),
            job_id="01000000",
        )

    def _publish(self, rows: dict[str, DebugSession]) -> None:
        self.rows = rows
        self.published += 1
        msgspec.msgpack.encode(list(rows.values()))  # what can't be sent would be published to nobody

    async def __call__(self, worker_id: str, command: str, /, **arguments: Any) -> Any:
        return await self.broker.call(SOMEBODY, worker_id, command, arguments)

    async def stopped(self, worker_id: str, after: int = 0, timeout: float = 15) -> tuple[int, int]:
        """Thread and number of a stop later than ``after``, once it is known where."""

        def found() -> tuple[int, int] | None:
            row = self.rows.get(worker_id)
            at = [one for one in row.threads if one.state == "stopped" and one.file and one.stop > after] if row else []
            return (at[0].threadId, at[0].stop) if at else None

        return await until(found, timeout, "a stop")

    async def state(self, worker_id: str, *states: str, timeout: float = 15) -> DebugSession:
        def found() -> DebugSession | None:
            row = self.rows.get(worker_id)
            return row if row is not None and row.state in states else None

        return await until(found, timeout, f"{' or '.join(states)}, {worker_id[:8]}")


async def _secret() -> str:
    return SECRET


@contextlib.asynccontextmanager
async def desk(
    directory: Path, node: Agent | None, targets: dict[str, int], lease_s: float = 600.0
) -> AsyncIterator[Desk]:
    """``node`` None: there is no keeper, the hub holds the sockets."""
    made = Desk(directory, targets, lease_s)
    await made.broker.keepers.sync([node.address()] if node is not None else [])
    try:
        yield made
    finally:
        await made.broker.close()
