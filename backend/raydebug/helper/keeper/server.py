"""The keeper's websocket: one hub at a time, and the sessions that outlive it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from raydebug.api.keeper import (
    Close,
    Ended,
    Event,
    HubToKeeper,
    KeeperHello,
    KeeperToHub,
    KeptEvent,
    Note,
    Open,
    Opened,
    Orphan,
    Request,
    Response,
    Snapshot,
)
from raydebug.api.names import TAKEN_OVER
from raydebug.dap.framing import Message
from raydebug.dap.held import Held, NotHeldError
from raydebug.helper.handshake import admit, binary, serve_privately
from raydebug.helper.keeper.peers import who_is_connected
from raydebug.helper.keeper.session import Session

log = logging.getLogger("raydebug.keeper")

MESSAGE_BYTES: Final = 16 << 20
UNSENT_BYTES: Final = 64 << 20
"""A hub that reads so little is no hub: its connection is dropped, and it finds all in the next snapshot."""
UNSENT_OUTPUT_BYTES: Final = 4 << 20
"""From here on what programs print is let go: it must not keep answers waiting, nor cost the hub its connection."""
FORGET_ENDED_S: Final = 120.0
LEASE_CHECK_S: Final = 0.5
DEFAULT_LEASE_S: Final = 600.0
LETTING_GO_S: Final = 10.0
REST_S: Final = 0.3

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(HubToKeeper).decode


class Line:
    """What is on its way to one hub."""

    def __init__(self, hub: ServerConnection, calm: Callable[[], None]) -> None:
        """``calm`` is called when all has been sent."""
        self.hub: Final = hub
        self._calm: Final = calm
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._unsent = 0

    @property
    def busy(self) -> bool:
        return self._unsent > UNSENT_OUTPUT_BYTES

    def tell(self, message: KeeperToHub) -> None:
        frame = _encode(message)
        self._unsent += len(frame)
        if self._unsent > UNSENT_BYTES:
            self.hub.transport.abort()
            return
        self._queue.put_nowait(frame)

    async def run(self) -> None:
        try:
            while True:
                frame = await self._queue.get()
                await self.hub.send(frame)
                self._unsent -= len(frame)
                if not self._unsent:
                    self._calm()
        except ConnectionClosed:
            pass


class Keeper:
    def __init__(self, *, node_id: str, secret: str, start_ns: int) -> None:
        self.node_id: Final = node_id
        self._secret: Final = secret
        self._start_ns: Final = start_ns
        self._sessions: dict[str, Session] = {}
        self._ended_at: dict[str, float] = {}
        self._line: Line | None = None
        self._alone_since = time.monotonic()
        self._work: set[asyncio.Task[None]] = set()
        self._letting_go: dict[str, Held] = {}
        """By session that was closed, the connection that is still owed answers."""
        self._let_go: dict[str, int] = {}
        """By session, the number of the last event that the hub wasn't told."""

    async def serve(self, socket_path: str) -> None:
        server = await serve_privately(self._connected, socket_path, MESSAGE_BYTES)
        async with server:
            print("ready", flush=True)
            await self._watch_leases()

    # The hub -------------------------------------------------------------------------------------------------------

    async def _connected(self, hub: ServerConnection) -> None:
        line = Line(hub, self._own_up)
        sending = None
        try:
            if not await admit(hub, self.node_id, self._secret, self._hello):
                return
            before, self._line = self._line, line
            self._let_go.clear()
            for session in self._sessions.values():
                session.stay()
            kept = [session.kept() for session in self._sessions.values()]  # of one moment: what comes later is queued
            if before is not None:
                log.info("another hub has taken over")
                self._spawn(before.hub.close(TAKEN_OVER, "another hub has taken over"))
            for one in kept:
                await hub.send(_encode(Snapshot(sessions=[one], more=True)))
            await hub.send(_encode(Snapshot(sessions=[])))
            sending = asyncio.create_task(line.run())
            async for frame in hub:
                if self._line is not line:
                    break
                self._take(line, _decode(binary(frame)))
        except ConnectionClosed:
            pass
        except (msgspec.MsgspecError, TypeError) as error:
            log.warning("a message can't be understood: %s", error)
            await hub.close(1002, "message not understood")
        finally:
            if sending is not None:
                sending.cancel()
            if self._line is line:
                self._line = None
                self._alone_since = time.monotonic()

    def _hello(self, proof: str) -> KeeperHello:
        return KeeperHello(proof=proof, pid=os.getpid(), start_ns=self._start_ns)

    def _take(self, line: Line, message: HubToKeeper) -> None:
        session = self._sessions.get(message.session)
        if isinstance(message, Open):
            if session is None or session.ended is not None:
                self._spawn(self._open(message))
            else:
                line.tell(Opened(session=message.session))
        elif isinstance(message, Request):
            self._ask(line, session, message)
        elif isinstance(message, Note) and session is not None:
            session.note(message)
        elif isinstance(message, Close) and session is not None:
            self._forget(session.name)  # first: its end is no news, and the name may be opened again at once
            session.held.close("detached")
            if not session.held.closed.is_set():
                self._letting_go[session.name] = session.held
                self._spawn(self._let_go_of(session))

    def _ask(self, line: Line, session: Session | None, message: Request) -> None:
        answered = functools.partial(self._answered, line, message)
        try:
            if session is None:
                raise NotHeldError("the keeper has no such session")
            session.ask(message.command, message.arguments, answered)
        except (ValueError, NotHeldError) as error:
            line.tell(
                Response(
                    session=message.session,
                    tag=message.tag,
                    success=False,
                    message=str(error),
                    body=b"{}",
                    refused=True,
                )
            )

    def _answered(self, line: Line, request: Request, answer: Message | None) -> None:
        if self._line is not line:
            self._tell(Orphan(session=request.session, command=request.command))
            return
        line.tell(
            Response(
                session=request.session,
                tag=request.tag,
                success=answer is not None and answer.success,
                message="the connection to debugpy ended before it answered" if answer is None else answer.message,
                body=b"{}" if answer is None else bytes(answer.body),
                refused=answer is None,
            )
        )

    def _tell(self, message: KeeperToHub) -> None:
        if self._line is not None:
            self._line.tell(message)

    # The sessions --------------------------------------------------------------------------------------------------

    async def _open(self, message: Open) -> None:
        name = message.session
        if (before := self._letting_go.get(name)) is not None:
            # debugpy has one client; who comes at the moment in which it lets go of the one before wedges it.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(before.closed.wait(), LETTING_GO_S)
                await asyncio.sleep(REST_S)
        session = Session(
            name, message.host, message.port, functools.partial(self._event, name), functools.partial(self._ended, name)
        )
        try:
            await session.held.connect(message.host, message.port)
        except (OSError, asyncio.TimeoutError) as error:
            reason = str(error) or type(error).__name__
            problem = f"debugpy at {message.host}:{message.port} can't be reached: {reason}"
            self._tell(Opened(session=name, error=problem))
            return
        if (other := self._sessions.get(name)) is not None and other.ended is None:
            session.held.close("it is open already")
            self._tell(Opened(session=name))
            return
        self._sessions[name] = session
        self._ended_at.pop(name, None)
        ours = [held.local_port for held in self._letting_go.values()]
        others = await asyncio.to_thread(who_is_connected, message.port, session.held.local_port, ours)
        self._tell(Opened(session=name, held_by=others))

    def _event(self, name: str, event: KeptEvent) -> None:
        if self._line is None:
            return
        if event.event == "output" and self._line.busy:
            self._let_go[name] = event.number
        else:
            self._let_go.pop(name, None)
            self._line.tell(Event(session=name, event=event))

    def _own_up(self) -> None:
        """Of what was let go the hub knows by the next event's number: where none came, by an empty one."""
        let_go, self._let_go = self._let_go, {}
        for name, number in let_go.items():
            self._tell(Event(session=name, event=KeptEvent(number, time.time_ns(), "output", b"{}")))

    def _ended(self, name: str, reason: str) -> None:
        if name in self._sessions and self._sessions[name].ended is not None:
            self._ended_at[name] = time.monotonic()
            self._tell(Ended(session=name, reason=reason))

    async def _let_go_of(self, session: Session) -> None:
        await session.held.closed.wait()
        if self._letting_go.get(session.name) is session.held:
            del self._letting_go[session.name]

    def _forget(self, name: str) -> None:
        self._sessions.pop(name, None)
        self._ended_at.pop(name, None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _watch_leases(self) -> None:
        parent = os.getppid()
        while True:
            await asyncio.sleep(LEASE_CHECK_S)
            if os.getppid() != parent:
                log.info("Ray's agent has ended")
                return
            now = time.monotonic()
            for name, at in list(self._ended_at.items()):
                if now - at > FORGET_ENDED_S:
                    self._forget(name)
            if self._line is not None:
                continue
            for session in list(self._sessions.values()):
                lease_s = session.lease_s if session.lease_s is not None else DEFAULT_LEASE_S
                if session.ended is None and now - self._alone_since > lease_s:
                    session.carry_out_will()
