"""The keepers of all nodes, seen from the hub: a connection to each that is needed or runs already."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

import aiohttp
import msgspec

from raydebug.api.keeper import (
    Close,
    Ended,
    Event,
    HubToKeeper,
    KeeperToHub,
    KeptSession,
    Note,
    Open,
    Opened,
    Orphan,
    Request,
    Response,
    Snapshot,
    WillRequest,
)
from raydebug.api.names import AGENT_KEEPER_PATH, TAKEN_OVER
from raydebug.dap.framing import MAX_BODY
from raydebug.hub.debugger.channel import Answer, ChannelError, Listener
from raydebug.hub.nodes.dial import NodeAddress, Unreachable, dial, prove, why_not

log = logging.getLogger(__name__)

RETRY_S: Final = (0.05, 0.1, 0.3, 1.0, 2.0)
OPEN_S: Final = 15.0
MESSAGE_BYTES: Final = MAX_BODY + (8 << 20)
"""One of debugpy's longest, or a session with all that was kept of it."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(KeeperToHub).decode

Found = Callable[[str, KeptSession, "KeeperChannel"], Listener | None]
"""Called with node, session and channel for a session of an earlier hub: who listens to it now, None to close it."""


class Keepers:
    """``secret`` gives the cluster secret, None while it isn't known."""

    def __init__(self, secret: Callable[[], Awaitable[str | None]], found: Found) -> None:
        self.secret: Final = secret
        self.found: Final = found
        self._links: dict[str, _Link] = {}
        self._http: aiohttp.ClientSession | None = None

    @property
    def http(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None, sock_connect=5)
            )
        return self._http

    async def sync(self, nodes: Iterable[NodeAddress]) -> None:
        """The nodes that are alive. A keeper that runs on one of them is found; none is started for that."""
        wanted = {node.node_id: node for node in nodes}
        for node_id, link in list(self._links.items()):
            if node_id not in wanted:
                del self._links[node_id]
                link.stop("its node is gone")
            elif wanted[node_id] != link.address:
                link.address = wanted[node_id]
        for node_id, address in wanted.items():
            if node_id not in self._links:
                self._links[node_id] = _Link(self, address)

    async def open(
        self, node_id: str, session: str, host: str, port: int, listener: Listener
    ) -> tuple[Any, str | None]:
        """A channel, and who else is connected to the same adapter. Raises ChannelError."""
        link = self._links.get(node_id)
        if link is None:
            raise ChannelError(f"node {node_id[:8]} isn't known")
        return await link.open(session, host, port, listener)

    def warm(self, node_ids: Iterable[str]) -> None:
        """Have the keepers of these nodes started: somebody may attach there soon, and shall not wait for that."""
        for node_id in node_ids:
            if (link := self._links.get(node_id)) is not None:
                link.warm()

    async def close(self) -> None:
        links, self._links = list(self._links.values()), {}
        for link in links:
            link.stop(None)
        if self._http is not None:
            await self._http.close()
            self._http = None


class KeeperChannel:
    """A session that a keeper holds."""

    kept: Final = True

    def __init__(self, link: _Link, session: str) -> None:
        self._link: Final = link
        self.session: Final = session
        self.listener: Listener | None = None

    async def ask(self, command: str, arguments: dict[str, Any]) -> Answer:
        return await self._link.ask(self.session, command, msgspec.json.encode(arguments))

    def note(self, note: bytes, upto: int, lease_s: float, will: Sequence[WillRequest]) -> None:
        self._link.say(Note(session=self.session, note=note, upto=upto, lease_s=lease_s, will=list(will)))

    def close(self) -> None:
        self._link.close(self.session)


class _Link:
    """One node's keeper."""

    def __init__(self, owner: Keepers, address: NodeAddress) -> None:
        self.owner = owner
        self.address = address
        self._poke = asyncio.Event()
        self.channels: dict[str, KeeperChannel] = {}
        self._wanted = False
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._up = asyncio.Event()
        self._problem: Unreachable | None = None
        self._failed = asyncio.Event()
        self._tags = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Answer]] = {}
        self._opening: dict[str, asyncio.Future[Opened]] = {}
        self._closed: set[str] = set()
        """Closed while the keeper couldn't be told."""
        self._snapshot: list[KeptSession] = []
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._task = asyncio.ensure_future(self._run())

    def stop(self, why: str | None) -> None:
        self._task.cancel()
        if why is not None:
            for channel in list(self.channels.values()):
                if channel.listener is not None:
                    channel.listener.ended(why)

    # What is asked -------------------------------------------------------------------------------------------------

    async def open(self, session: str, host: str, port: int, listener: Listener) -> tuple[KeeperChannel, str | None]:
        await self._reach()
        answer: asyncio.Future[Opened] = asyncio.get_running_loop().create_future()
        self._opening[session] = answer
        channel = self.channels[session] = KeeperChannel(self, session)
        channel.listener = listener
        self.say(Open(session=session, host=host, port=port))
        try:
            opened = await asyncio.wait_for(answer, OPEN_S)
        except asyncio.TimeoutError:
            opened = Opened(session=session, error=f"the keeper gave no answer in {OPEN_S:g} s")
        finally:
            self._opening.pop(session, None)
        if opened.error is not None:
            self.channels.pop(session, None)
            raise ChannelError(opened.error)
        return channel, opened.held_by

    def close(self, session: str) -> None:
        self.channels.pop(session, None)
        if self._ws is None:
            self._closed.add(session)
        self.say(Close(session=session))

    def warm(self) -> None:
        if not self._wanted and not self._up.is_set():
            self._wanted = True
            self._poke.set()

    async def ask(self, session: str, command: str, arguments: bytes) -> Answer:
        if self._ws is None:
            raise ChannelError("the keeper of this node can't be reached now")
        tag = next(self._tags)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked[tag] = answer
        self.say(Request(session=session, tag=tag, command=command, arguments=arguments))
        try:
            return await answer
        finally:
            self._asked.pop(tag, None)

    def say(self, message: HubToKeeper) -> None:
        """In order with what was said before; lost when the connection ends."""
        if self._ws is not None:
            self._outbox.put_nowait(_encode(message))

    async def _reach(self) -> None:
        """Have the keeper started and connected. Raises ChannelError."""
        if self._up.is_set():
            return
        self._wanted = True
        self._failed.clear()
        self._poke.set()
        for _ in range(8):
            waits = {asyncio.ensure_future(self._up.wait()), asyncio.ensure_future(self._failed.wait())}
            _, pending = await asyncio.wait(waits, timeout=OPEN_S, return_when=asyncio.FIRST_COMPLETED)
            for one in pending:
                one.cancel()
            if self._up.is_set():
                return
            problem = self._problem
            if problem is None or problem.state in ("missing", "refused"):
                break
            self._failed.clear()
        note = self._problem.note if self._problem else f"the keeper of node {self.address.node_id[:8]} didn't come up"
        raise ChannelError(note)

    # Its life ------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        failures = 0
        while True:
            self._poke.clear()
            wanted = self._wanted or bool(self.channels)
            try:
                await self._connect_and_listen(wanted)
                problem = Unreachable("connecting", "The connection to the keeper ended; it is being dialed again.")
            except asyncio.CancelledError:
                self._lost("the hub ends")
                raise
            except Exception as error:
                problem = why_not(error, self.address, "keeper")
            if self._wanted and not wanted and not self._up.is_set():
                continue  # it was only looked for; now it is to be started
            failures = 0 if self._up.is_set() else failures + 1
            self._problem = problem
            self._lost(problem.note)
            self._failed.set()
            if not self._wanted and not self.channels and problem.state != "connecting":
                await self._poke.wait()
            else:
                pause = problem.retry_s or RETRY_S[min(failures, len(RETRY_S) - 1)] * random.uniform(0.8, 1.2)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._poke.wait(), pause)

    async def _connect_and_listen(self, wanted: bool) -> None:
        secret = await self.owner.secret()
        if not secret:
            raise Unreachable("connecting", "The cluster's secret isn't known yet.", 1.0)
        path = AGENT_KEEPER_PATH if wanted else f"{AGENT_KEEPER_PATH}?running"
        ws = await dial(self.owner.http, self.address, path, "keeper", MESSAGE_BYTES)
        sending = None
        try:
            await prove(ws, self.address.node_id, secret, _decode, "keeper")
            self._ws, self._outbox, self._snapshot = ws, asyncio.Queue(), []
            sending = asyncio.create_task(self._send(ws, self._outbox))
            async for frame in ws:
                if frame.type is not aiohttp.WSMsgType.BINARY:
                    break
                self._take(_decode(frame.data))
        finally:
            if sending is not None:
                sending.cancel()
            await ws.close()
        if ws.close_code == TAKEN_OVER:
            # Two hubs that took it from each other by turns would leave neither with a session that works.
            note = "another hub of this cluster has taken over this node's keeper, and the session with it"
            channels, self.channels, self._wanted = list(self.channels.values()), {}, False
            for channel in channels:
                if channel.listener is not None:
                    channel.listener.ended(note)
            raise Unreachable("missing", note)

    async def _send(self, ws: aiohttp.ClientWebSocketResponse, outbox: asyncio.Queue[bytes]) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                await ws.send_bytes(await outbox.get())

    def _take(self, message: KeeperToHub) -> None:
        if isinstance(message, Response):
            answer = self._asked.get(message.tag)
            if answer is None or answer.done():
                return
            if message.refused:
                answer.set_exception(ChannelError(message.message or "refused"))
            else:
                answer.set_result(Answer(message.success, message.message, message.body))
        elif isinstance(message, Snapshot):
            self._snapshot += message.sessions
            if not message.more:
                sessions, self._snapshot = self._snapshot, []
                self._resume(sessions)
        elif isinstance(message, Opened):
            opening = self._opening.get(message.session)
            if opening is not None and not opening.done():
                opening.set_result(message)
            elif opening is None and message.error is None and message.session not in self.channels:
                self.say(Close(session=message.session))  # nobody waits for it any more
        elif isinstance(message, Event | Orphan | Ended):
            channel = self.channels.get(message.session)
            listener = channel.listener if channel else None
            if listener is None:
                return
            if isinstance(message, Event):
                listener.event(message.event)
            elif isinstance(message, Orphan):
                listener.orphan(message.command)
            else:
                self.channels.pop(message.session, None)
                listener.ended(message.reason)

    def _resume(self, sessions: list[KeptSession]) -> None:
        """What the keeper holds decides: what it doesn't hold any more has ended."""
        held = {kept.session: kept for kept in sessions}
        for name, channel in list(self.channels.items()):
            if name not in held and name not in self._opening:
                del self.channels[name]
                if channel.listener is not None:
                    channel.listener.ended("the node's keeper was restarted, so the worker went on")
        for name, kept in held.items():
            self._resume_one(name, kept)
        self._closed.clear()
        self._up.set()

    def _resume_one(self, name: str, kept: KeptSession) -> None:
        known = self.channels.get(name)
        channel = known or KeeperChannel(self, name)
        if known is None:
            self.channels[name] = channel
            if name not in self._closed:
                channel.listener = self.owner.found(self.address.node_id, kept, channel)
        listener = channel.listener
        if listener is None or kept.ended is not None:
            channel.close()
            if listener is not None:
                listener.ended(kept.ended or "closed")
            return
        if known is not None:
            for event in kept.events:
                listener.event(event)
            listener.found(kept.asked)

    def _lost(self, note: str) -> None:
        was_up = self._up.is_set()
        self._ws = None
        self._up.clear()
        for answer in list(self._asked.values()):
            if not answer.done():
                answer.set_exception(ChannelError("the connection to the node's keeper ended before the answer came"))
        if was_up:
            for channel in self.channels.values():
                if channel.listener is not None:
                    channel.listener.lost(note)
