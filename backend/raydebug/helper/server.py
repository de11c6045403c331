"""The helper's websocket: the handshake, then what the one hub asks for.

Of several hubs that prove themselves the newest is served; the one before is told so and let go. The watched set
outlives its hub for a while, so that a hub that comes back learns since when each title has been what it is.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from typing import Final

import msgspec
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from raydebug.api.helper import (
    AckEvents,
    Dump,
    Events,
    FrozenException,
    ReadException,
    Refused,
    Stacks,
    Steps,
    Titles,
    WantEvents,
    Watch,
)
from raydebug.api.names import TAKEN_OVER

from .events import EventRelay
from .facts import Facts
from .frozen import ExceptionReader
from .handshake import admit, binary, serve_privately
from .stacks import Dumper
from .titles import TitleSampler
from .workers import Workers

log = logging.getLogger("raydebug.helper")

PERIOD_S: Final = 0.25
SEND_S: Final = 20.0
KEEP_WATCHING_S: Final = 60.0
QUEUED_DUMPS: Final = 4096
STEPS_S: Final = 0.05
STEPS_AT_ONCE: Final = 4096

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Watch | Dump | ReadException | WantEvents | AckEvents | Refused).decode


class Helper:
    def __init__(self, *, node_id: str, secret: str, facts: Facts) -> None:
        self.node_id = node_id
        self.facts = facts
        self._secret = secret
        self._sampler = TitleSampler()
        self._dumper = Dumper(self._sampler.__contains__)
        self._exceptions = ExceptionReader(self._sampler.__contains__)
        self._relay = EventRelay()
        self._workers = Workers(self._steps_said)
        self._steps_told: int | None = None
        self._telling: asyncio.Task[None] | None = None
        self._hub: ServerConnection | None = None
        self._left_at: float | None = None
        self._dumps: set[asyncio.Task[None]] = set()

    async def serve(self, socket_path: str, events_path: str | None = None, worker_path: str | None = None) -> None:
        server = await serve_privately(self._connected, socket_path)
        if events_path is not None:
            await self._relay.listen(events_path)
        if worker_path is not None:
            self._workers.listen(worker_path)
        async with server:
            print("ready", flush=True)
            await self._sample_forever()

    async def _connected(self, hub: ServerConnection) -> None:
        try:
            if not await admit(hub, self.node_id, self._secret, self.facts.hello):
                return
            before, self._hub = self._hub, hub
            if before is not None:
                log.info("another hub has taken over")
                await before.close(TAKEN_OVER, "another hub has taken over")
            fresh = True
            async for frame in hub:
                message = _decode(binary(frame))
                if isinstance(message, Watch):
                    await self._watch(hub, message.pids, fresh)
                    fresh = False
                elif isinstance(message, Dump | ReadException):
                    self._start(hub, message)
                elif isinstance(message, WantEvents):
                    self._relay.wanted(message.epoch, message.after, functools.partial(self._relay_to, hub))
                    self._steps_told = 0
                    self._steps_said()
                elif isinstance(message, AckEvents):
                    self._relay.acked(message.epoch, message.number)
        except ConnectionClosed:
            pass
        except (msgspec.MsgspecError, TypeError) as error:
            log.warning("a message can't be understood: %s", error)
            await hub.close(1002, "message not understood")
        finally:
            if self._hub is hub:
                self._hub = None
                self._relay.unwanted()
                self._steps_told = None
                self._left_at = time.monotonic()

    async def _watch(self, hub: ServerConnection, pids: list[int], fresh: bool) -> None:
        known = set() if fresh else {t.pid for t in self._sampler.all()}
        gone = self._sampler.watch(pids)
        new = [t for t in self._sampler.all() if t.pid not in known]
        if new or gone:
            await hub.send(_encode(Titles(changed=new, gone=gone)))

    def _start(self, hub: ServerConnection, ask: Dump | ReadException) -> None:
        if len(self._dumps) >= QUEUED_DUMPS:
            log.warning("too many questions are waiting, one about process %d is dropped", ask.pid)
            return

        async def deliver(answer: Stacks | FrozenException) -> None:
            await self._send(hub, _encode(answer))

        work = self._dumper.dump(ask, deliver) if isinstance(ask, Dump) else self._exceptions.read(ask, deliver)
        task = asyncio.ensure_future(work)
        self._dumps.add(task)
        task.add_done_callback(self._dumps.discard)

    def _steps_said(self) -> None:
        if self._steps_told is not None and (self._telling is None or self._telling.done()):
            self._telling = asyncio.ensure_future(self._tell_steps())

    async def _tell_steps(self) -> None:
        """Gather for a moment, then say what is new, until nothing is."""
        while True:
            await asyncio.sleep(STEPS_S)
            hub, told = self._hub, self._steps_told
            new = self._workers.after(told) if told is not None else []
            if hub is None or not new:
                return
            part = new[:STEPS_AT_ONCE]
            self._steps_told = part[-1][0]
            marks = [mark for _, mark in part]
            await self._send(hub, _encode(Steps(marks=marks, dropped=self._workers.dropped)))

    async def _relay_to(self, hub: ServerConnection, events: Events) -> None:
        await self._send(hub, _encode(events))

    async def _send(self, hub: ServerConnection, frame: bytes) -> None:
        """A hub that doesn't read for that long is no hub."""
        try:
            await asyncio.wait_for(hub.send(frame), SEND_S)
        except asyncio.TimeoutError:
            hub.transport.abort()
        except ConnectionClosed:
            pass

    async def _sample_forever(self) -> None:
        parent = os.getppid()
        while True:
            await asyncio.sleep(PERIOD_S)
            if os.getppid() != parent:
                log.info("Ray's agent has ended")
                return
            if self._hub is None:
                if len(self._sampler) and self._left_at and time.monotonic() - self._left_at > KEEP_WATCHING_S:
                    self._sampler.watch(())
                if not len(self._sampler):
                    continue
            news = self._sampler.sample(time.time_ns())
            if news is not None and self._hub is not None:
                await self._send(self._hub, _encode(news))
