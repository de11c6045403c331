"""The node helpers, seen from the hub: one dialed connection to each, through Ray's node agent.

Nothing here knows Ray: addresses and headers are handed in by :meth:`Helpers.sync`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import random
from collections.abc import Awaitable, Callable, Iterable

import aiohttp
import msgspec

from raydebug.api.helper import (
    AckEvents,
    Challenge,
    Dump,
    Events,
    FrozenException,
    Hello,
    HelperToHub,
    ReadException,
    Stacks,
    StepMark,
    Steps,
    Title,
    Titles,
    WantEvents,
    Watch,
)
from raydebug.api.names import AGENT_HELPER_PATH, TAKEN_OVER
from raydebug.api.topology import HelperState, NodeId
from raydebug.hub.nodes.dial import RETRY_REFUSED_S, NodeAddress, Unreachable, dial, prove, why_not

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 60.0
"""A helper makes two at a time; a whole node of paused workers waits in its queue."""
RETRY_S = (0.1, 0.3, 1.0, 2.0, 5.0)
EVENTS_SINCE = 2
"""The protocol since which a helper relays task events."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(HelperToHub).decode


Question = Dump | ReadException
Answered = Stacks | FrozenException | str
"""A helper's answer, or why there is none."""


def _why(answer: Answered) -> str:
    return answer if isinstance(answer, str) else "The helper answered another question than this one."


class Helpers:
    """``secret`` gives the cluster secret, None while it isn't known. ``on_state(node_id)`` after any change of a
    state, ``on_titles(node_id, changed, gone)`` after a change of titles; both in the hub's loop, and short.
    """

    def __init__(
        self,
        secret: Callable[[], Awaitable[str | None]],
        *,
        on_state: Callable[[NodeId], None] = lambda _node: None,
        on_titles: Callable[[NodeId, list[Title], list[int]], None] = lambda _node, _changed, _gone: None,
        on_events: Callable[[NodeId, Events], None] | None = None,
        on_steps: Callable[[NodeId, list[StepMark]], None] = lambda _node, _marks: None,
        connector: Callable[[], aiohttp.BaseConnector] | None = None,
    ) -> None:
        self.secret = secret
        self.on_state = on_state
        self.on_titles = on_titles
        self.on_events = on_events
        self.on_steps = on_steps
        self.taken: dict[NodeId, tuple[str, int]] = {}
        """Epoch and number up to which a node's events are taken."""
        self.titles: dict[tuple[NodeId, int], Title] = {}
        """What each watched process says now; entries go with their process and with their helper's connection."""
        self._connector = connector or (lambda: aiohttp.TCPConnector(limit=0))
        self._session: aiohttp.ClientSession | None = None
        self._links: dict[NodeId, _Link] = {}

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
            )
        return self._session

    async def ack_events(self, node_id: NodeId, epoch: str, number: int) -> None:
        """What came of a node up to this number is taken."""
        self.taken[node_id] = (epoch, number)
        link = self._links.get(node_id)
        if link is not None:
            await link.ack(epoch, number)

    async def sync(self, nodes: Iterable[NodeAddress]) -> None:
        """Keep a connection to each of these nodes, and to no other."""
        wanted = {node.node_id: node for node in nodes}
        for node_id, link in list(self._links.items()):
            if wanted.get(node_id) != link.address:
                del self._links[node_id]
                await link.stop()
                if node_id not in wanted:
                    self.on_state(node_id)
                else:
                    self._start(wanted[node_id], link.pids)
        for node_id, address in wanted.items():
            if node_id not in self._links:
                self._start(address, frozenset())

    def _start(self, address: NodeAddress, pids: frozenset[int]) -> None:
        self._links[address.node_id] = _Link(self, address, pids)

    def state(self, node_id: NodeId) -> tuple[HelperState, str | None]:
        link = self._links.get(node_id)
        if link is None:
            return "connecting", "The address of this node's agent isn't known yet."
        return link.state, link.note

    def hello(self, node_id: NodeId) -> Hello | None:
        """The node's facts as its helper told them, while it is up."""
        link = self._links.get(node_id)
        return link.hello if link else None

    def challenge(self, node_id: NodeId) -> Challenge | None:
        """The versions that the node's helper spoke of, while it is up."""
        link = self._links.get(node_id)
        return link.challenge if link else None

    def summary(self) -> tuple[int, int]:
        """How many helpers are up, of how many nodes."""
        return sum(link.state == "up" for link in self._links.values()), len(self._links)

    async def watch(self, node_id: NodeId, pids: Iterable[int]) -> None:
        """The processes of a node whose titles are wanted, all of them; kept over reconnects."""
        if (link := self._links.get(node_id)) is not None:
            await link.watch(frozenset(pids))

    async def dump(self, node_id: NodeId, pid: int, locals: bool = False) -> Stacks:  # noqa: A002
        """Stacks of a watched process. Never raises for what a node does: ``error`` says why there are none."""
        answer = await self._ask(node_id, lambda number: Dump(id=number, pid=pid, locals=locals))
        return answer if isinstance(answer, Stacks) else Stacks(id=0, pid=pid, threads=[], error=_why(answer))

    async def read_exception(self, node_id: NodeId, pid: int, ident: int) -> FrozenException:
        """The exception in which a thread is frozen. Never raises for what a node does, as with ``dump``."""
        answer = await self._ask(node_id, lambda number: ReadException(id=number, pid=pid, ident=ident))
        return answer if isinstance(answer, FrozenException) else FrozenException(id=0, pid=pid, error=_why(answer))

    async def _ask(
        self, node_id: NodeId, make: Callable[[int], Dump | ReadException]
    ) -> Stacks | FrozenException | str:
        """The helper's answer, or why there is none."""
        link = self._links.get(node_id)
        if link is None or link.state != "up":
            _, note = self.state(node_id)
            return note or "The node's helper isn't up."
        return await link.ask(make)

    async def close(self) -> None:
        links, self._links = list(self._links.values()), {}
        await asyncio.gather(*(link.stop() for link in links))
        if self._session is not None:
            await self._session.close()
            self._session = None


class _Link:
    """One node's connection and what is known through it."""

    def __init__(self, owner: Helpers, address: NodeAddress, pids: frozenset[int]) -> None:
        self.owner = owner
        self.address = address
        self.pids = pids
        self.state: HelperState = "connecting"
        self.note: str | None = None
        self.hello: Hello | None = None
        self.challenge: Challenge | None = None
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Answered]] = {}
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        self._task.cancel()
        # Not longer: a helper that doesn't answer the websocket's close would hold it for 10 s.
        await asyncio.wait([self._task], timeout=1)

    async def watch(self, pids: frozenset[int]) -> None:
        if pids != self.pids:
            self.pids = pids
            stale = [pid for node, pid in self.owner.titles if node == self.address.node_id and pid not in pids]
            for pid in stale:
                del self.owner.titles[self.address.node_id, pid]
            await self._send(Watch(pids=sorted(pids)))

    async def ask(self, make: Callable[[int], Question]) -> Answered:
        number = next(self._ids)
        answer: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            await self._send(make(number))
            return await asyncio.wait_for(answer, ANSWER_TIMEOUT_S)
        except asyncio.TimeoutError:
            return f"The helper gave no answer in {ANSWER_TIMEOUT_S:g} s; the node may be overloaded."
        finally:
            self._asked.pop(number, None)

    async def ack(self, epoch: str, number: int) -> None:
        await self._send(AckEvents(epoch=epoch, number=number))

    async def _send(self, message: Watch | Question | AckEvents) -> None:
        if self._ws is not None:
            with contextlib.suppress(ConnectionError):
                await self._ws.send_bytes(_encode(message))

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                await self._connect_and_listen()
                problem = Unreachable("connecting", "The connection to the helper ended; it is being dialed again.")
            except asyncio.CancelledError:
                self._lost()
                raise
            except Exception as error:
                problem = why_not(error, self.address, "helper")
            failures = 0 if self.state == "up" else failures + 1
            self._lost()
            self._set(problem.state, problem.note)
            pause = problem.retry_s or RETRY_S[min(failures, len(RETRY_S) - 1)]
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _connect_and_listen(self) -> None:
        secret = await self.owner.secret()
        if not secret:
            raise Unreachable("connecting", "No helper has published this cluster's secret yet.", 1.0)
        ws = await dial(self.owner.session, self.address, AGENT_HELPER_PATH, "helper")
        try:
            challenge, hello = await prove(ws, self.address.node_id, secret, _decode, "helper")
            if not isinstance(hello, Hello):
                raise Unreachable("refused", "What answers isn't a helper.", RETRY_REFUSED_S)
            self._ws, self.challenge, self.hello = ws, challenge, hello
            self._set("up", hello.ptrace)
            await ws.send_bytes(_encode(Watch(pids=sorted(self.pids))))
            if self.owner.on_events is not None and challenge.protocol >= EVENTS_SINCE:
                epoch, after = self.owner.taken.get(self.address.node_id, ("", 0))
                await ws.send_bytes(_encode(WantEvents(epoch=epoch, after=after)))
            async for frame in ws:
                if frame.type is not aiohttp.WSMsgType.BINARY:
                    break
                self._take(_decode(frame.data))
        finally:
            await ws.close()
        if ws.close_code == TAKEN_OVER:
            note = "Another hub has taken over this node's helper; a helper serves one hub."
            raise Unreachable("connecting", note, RETRY_REFUSED_S)

    def _take(self, message: HelperToHub) -> None:
        node_id = self.address.node_id
        if isinstance(message, Titles):
            for title in message.changed:
                if title.pid in self.pids:
                    self.owner.titles[node_id, title.pid] = title
            for pid in message.gone:
                self.owner.titles.pop((node_id, pid), None)
            self.owner.on_titles(node_id, message.changed, message.gone)
        elif isinstance(message, Stacks | FrozenException):
            answer = self._asked.get(message.id)
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif isinstance(message, Steps):
            self.owner.on_steps(node_id, message.marks)
        elif isinstance(message, Events) and self.owner.on_events is not None:
            self.owner.on_events(node_id, message)

    def _set(self, state: HelperState, note: str | None) -> None:
        if (state, note) != (self.state, self.note):
            self.state, self.note = state, note
            self.owner.on_state(self.address.node_id)

    def _lost(self) -> None:
        """Nothing known through the connection is claimed any longer."""
        self._ws = self.hello = self.challenge = None
        node_id = self.address.node_id
        lost = [pid for node, pid in self.owner.titles if node == node_id]
        for pid in lost:
            del self.owner.titles[node_id, pid]
        if lost:
            self.owner.on_titles(node_id, [], lost)
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result("The connection to the helper ended before it answered.")
