"""The way to one debugpy: through the keeper of its node, or, where there is none, a socket of the hub's own."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from raydebug.api.keeper import KeptEvent, WillRequest
from raydebug.dap.framing import Message
from raydebug.dap.held import Held, NotHeldError


class ChannelError(Exception):
    """What was asked never got to debugpy, or its answer never here; the text says why."""


@dataclass(frozen=True)
class Answer:
    """``body``: JSON."""

    success: bool
    message: str | None
    body: bytes

    def get(self) -> Any:
        return msgspec.json.decode(self.body)


class Listener(Protocol):
    """Who wants to know what comes by itself. All are called in the loop and must be quick."""

    def event(self, event: KeptEvent) -> None: ...
    def orphan(self, command: str) -> None:
        """A request that an earlier hub had made was answered."""
        ...

    def ended(self, reason: str) -> None:
        """The connection to debugpy is over."""
        ...

    def lost(self, note: str) -> None:
        """The keeper can't be reached now; the worker stays as it is."""
        ...

    def found(self, asked: Sequence[tuple[str, int]]) -> None:
        """It is reached again; all events that came meanwhile have been told. ``asked``: what debugpy still has to
        answer of what was asked before, whose answers will be told as orphans."""
        ...


class Channel(Protocol):
    @property
    def kept(self) -> bool:
        """Whether a keeper holds the socket, so that it outlives this hub."""
        ...

    async def ask(self, command: str, arguments: dict[str, Any]) -> Answer:
        """Raises ChannelError. Waits for as long as it takes: who gives up cancels the waiting, not the request."""
        ...

    def note(self, note: bytes, upto: int, lease_s: float, will: Sequence[WillRequest]) -> None: ...
    def close(self) -> None: ...


class DirectChannel:
    """Where no keeper is to be had: the worker runs on should the hub die, and the page says so."""

    kept: Final = False

    def __init__(self, listener: Listener) -> None:
        self._listener: Final = listener
        self._numbers: Final = itertools.count(1)
        self._held: Final = Held(self._event, listener.ended)

    async def open(self, host: str, port: int) -> None:
        """Raises ChannelError."""
        try:
            await self._held.connect(host, port)
        except ConnectionRefusedError as error:
            raise ChannelError(
                f"nothing listens at {host}:{port}: debugpy's adapter of this process has ended, and Ray opens "
                "no other; what waits there in breakpoint() waits for nobody: end the worker (ray.kill)"
            ) from error
        except (OSError, asyncio.TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise ChannelError(f"debugpy at {host}:{port} can't be reached: {reason}") from error

    async def ask(self, command: str, arguments: dict[str, Any]) -> Answer:
        try:
            message = await self._held.ask(command, msgspec.json.encode(arguments))
        except NotHeldError as error:
            raise ChannelError(str(error)) from error
        return Answer(message.success, message.message, bytes(message.body))

    def note(self, note: bytes, upto: int, lease_s: float, will: Sequence[WillRequest]) -> None:
        """There is nobody to remember it."""

    def close(self) -> None:
        self._held.close("detached")

    def _event(self, message: Message) -> None:
        event = KeptEvent(next(self._numbers), time.time_ns(), message.event, bytes(message.body))
        self._listener.event(event)
