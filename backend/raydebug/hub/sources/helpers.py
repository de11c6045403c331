"""The node helpers, seen from the hub: one dialed connection to each, through Ray's node agent.

Nothing here knows Ray: addresses and headers are handed in by :meth:`Helpers.sync`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import aiohttp
import msgspec

from raydebug import __version__
from raydebug.api.helper import (
    AckEvents,
    Answer,
    Challenge,
    Dump,
    Events,
    FrozenException,
    Hello,
    HelperToHub,
    ReadException,
    Refused,
    Stacks,
    StepMark,
    Steps,
    Title,
    Titles,
    WantEvents,
    Watch,
)
from raydebug.api.names import AGENT_HELPER_PATH, PROTOCOL, TAKEN_OVER
from raydebug.api.proof import nonce, proof, same
from raydebug.api.topology import HelperState, NodeId

log = logging.getLogger(__name__)

SPOKEN = (PROTOCOL, PROTOCOL - 1)
HANDSHAKE_S = 15.0
ANSWER_TIMEOUT_S = 60.0
"""A helper makes two at a time; a whole node of paused workers waits in its queue."""
RETRY_S = (0.1, 0.3, 1.0, 2.0, 5.0)
RETRY_REFUSED_S = 30.0
"""For what only a person can mend, and for a hub that another one has replaced."""
MESSAGE_BYTES = 16 << 20
EVENTS_SINCE = 2
"""The protocol since which a helper relays task events."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(HelperToHub).decode


@dataclass(frozen=True)
class HelperAddress:
    """``url``: of the node's agent, ``http://ip:port``. ``headers``: what the agent asks for (Ray's token)."""

    node_id: NodeId
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


Question = Dump | ReadException
Answered = Stacks | FrozenException | str
"""A helper's answer, or why there is none."""


def _why(answer: Answered) -> str:
    return answer if isinstance(answer, str) else "The helper answered another question than this one."


class _Unreachable(Exception):  # noqa: N818
    """Why a connection isn't there, how that counts, and how soon to try again (None: by backoff)."""

    def __init__(self, state: HelperState, note: str, retry_s: float | None = None) -> None:
        super().__init__(note)
        self.state = state
        self.note = note
        self.retry_s = retry_s


def note_for_status(status: int, body: str, node_id: NodeId) -> tuple[HelperState, str, float | None]:
    """What an agent's refusal of the upgrade means."""
    node = f"node {node_id[:8]}"
    said = f": {body.strip()[:300]}" if body.strip() else "."
    if status == 404:
        fix = "`pip install raydebug` into Ray's environment there, then restart Ray on that node"
        return "missing", f"raydebug isn't installed on {node}. {fix}.", RETRY_REFUSED_S
    if status in (401, 403):
        return "refused", f"Ray's agent on {node} refused the hub's token (HTTP {status}){said}", RETRY_REFUSED_S
    if status == 503:
        return "connecting", f"The helper on {node} isn't up{said}", None
    return "connecting", f"Ray's agent on {node} answered HTTP {status}{said}", None


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

    async def sync(self, nodes: Iterable[HelperAddress]) -> None:
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

    def _start(self, address: HelperAddress, pids: frozenset[int]) -> None:
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

    def __init__(self, owner: Helpers, address: HelperAddress, pids: frozenset[int]) -> None:
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
                problem = _Unreachable("connecting", "The connection to the helper ended; it is being dialed again.")
            except asyncio.CancelledError:
                self._lost()
                raise
            except _Unreachable as error:
                problem = error
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                reason = str(error) or type(error).__name__
                problem = _Unreachable("connecting", f"Ray's agent at {self.address.url} can't be reached: {reason}")
            except Exception as error:
                log.exception("the connection to the helper of node %s failed", self.address.node_id)
                problem = _Unreachable("connecting", f"The hub failed on this connection: {error}")
            failures = 0 if self.state == "up" else failures + 1
            self._lost()
            self._set(problem.state, problem.note)
            pause = problem.retry_s or RETRY_S[min(failures, len(RETRY_S) - 1)]
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))

    async def _connect_and_listen(self) -> None:
        secret = await self.owner.secret()
        if not secret:
            raise _Unreachable("connecting", "No helper has published this cluster's secret yet.", 1.0)
        ws = await self._dial()
        try:
            challenge, hello = await self._handshake(ws, secret)
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
            raise _Unreachable("connecting", note, RETRY_REFUSED_S)

    async def _dial(self) -> aiohttp.ClientWebSocketResponse:
        url = self.address.url.rstrip("/") + AGENT_HELPER_PATH

        async def dial() -> aiohttp.ClientWebSocketResponse:
            socket = await self.owner.session.ws_connect(
                url, headers=self.address.headers, compress=0, max_msg_size=MESSAGE_BYTES, heartbeat=20
            )
            return cast(aiohttp.ClientWebSocketResponse, socket)  # a generic class from aiohttp 3.14 on

        try:
            return await asyncio.wait_for(dial(), HANDSHAKE_S)
        except aiohttp.WSServerHandshakeError as error:
            said = await self._ask_why(url) if error.status == 503 else ""
            raise _Unreachable(*note_for_status(error.status, said, self.address.node_id)) from error

    async def _ask_why(self, url: str) -> str:
        """What the agent says to a plain request: the body of a refused upgrade is lost in aiohttp."""
        timeout = aiohttp.ClientTimeout(total=5)
        async with self.owner.session.get(url, headers=self.address.headers, timeout=timeout) as answer:
            return await answer.text() if answer.status == 503 else ""

    async def _handshake(self, ws: aiohttp.ClientWebSocketResponse, secret: str) -> tuple[Challenge, Hello]:
        node_id = self.address.node_id
        node = f"node {node_id[:8]}"
        challenge = await self._receive(ws)
        if not isinstance(challenge, Challenge):
            raise _Unreachable("refused", f"What answers on {node} isn't a helper.", RETRY_REFUSED_S)
        if challenge.protocol not in SPOKEN:
            older = "there" if challenge.protocol < PROTOCOL else "on the head"
            note = (
                f"The helper on {node} is raydebug {challenge.version} (protocol {challenge.protocol}), the hub is "
                f"{__version__} (protocol {PROTOCOL}). `pip install -U raydebug` {older}, then restart Ray there."
            )
            raise _Unreachable("refused", note, RETRY_REFUSED_S)
        if challenge.node_id != node_id:
            raise _Unreachable("refused", f"The helper of {challenge.node_id[:8]} answers for {node}.", RETRY_REFUSED_S)
        mine = nonce()
        given = proof(secret, "hub", node_id, challenge.nonce, mine)
        await ws.send_bytes(_encode(Answer(protocol=challenge.protocol, version=__version__, nonce=mine, proof=given)))
        hello = await self._receive(ws)
        if isinstance(hello, Refused):
            raise _Unreachable("refused", f"The helper on {node} refused: {hello.reason}.", RETRY_REFUSED_S)
        if not isinstance(hello, Hello) or not same(
            hello.proof, proof(secret, "helper", node_id, challenge.nonce, mine)
        ):
            note = f"What answers on {node} does not know this cluster's secret; it is not trusted."
            raise _Unreachable("refused", note, RETRY_REFUSED_S)
        return challenge, hello

    async def _receive(self, ws: aiohttp.ClientWebSocketResponse) -> HelperToHub:
        try:
            frame = await ws.receive(timeout=HANDSHAKE_S)
            if frame.type is not aiohttp.WSMsgType.BINARY:
                raise _Unreachable("connecting", "The helper hung up during the handshake.")
            return _decode(frame.data)
        except msgspec.MsgspecError as error:
            note = f"The helper on node {self.address.node_id[:8]} says what this hub can't read: {error}."
            raise _Unreachable("refused", note, RETRY_REFUSED_S) from error

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
