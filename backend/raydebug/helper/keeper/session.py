"""One debugpy connection with what the next hub must know of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from raydebug.api.keeper import KeptEvent, KeptSession, Note, WillRequest
from raydebug.dap.framing import Message
from raydebug.dap.held import Held, NotHeldError

log = logging.getLogger("raydebug.keeper")

MAX_EVENTS: Final = 5000
MAX_EVENT_BYTES: Final = 2 << 20
WILL_STEP_S: Final = 5.0


class Session:
    """``tell_event``, ``tell_end``: to the hub, if there is one."""

    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        tell_event: Callable[[KeptEvent], None],
        tell_end: Callable[[str], None],
    ) -> None:
        self.name: Final = name
        self.host: Final = host
        self.port: Final = port
        self.held: Final = Held(self._event, self._end)
        self.ended: str | None = None
        self.lease_s: float | None = None
        self._will: list[WillRequest] = []
        self._tell_event: Final = tell_event
        self._tell_end: Final = tell_end
        self._opened_ns: Final = time.time_ns()
        self._note = b""
        self._output: deque[KeptEvent] = deque()
        self._others: deque[KeptEvent] = deque()
        self._bytes = 0
        self._number = 0
        self._dropped = 0
        self._asked_ns: dict[int, tuple[str, int]] = {}
        self._next_ask = 0
        self._leaving: asyncio.Task[None] | None = None
        self._left = False
        self._freed = False

    def kept(self) -> KeptSession:
        return KeptSession(
            session=self.name,
            host=self.host,
            port=self.port,
            opened_ns=self._opened_ns,
            note=self._note,
            events=sorted([*self._output, *self._others], key=lambda event: event.number),
            dropped=self._dropped,
            asked=list(self._asked_ns.values()),
            ended=self.ended,
            freed=self._freed,
        )

    def note(self, note: Note) -> None:
        self._note, self._will, self.lease_s = note.note, note.will, note.lease_s
        self._freed = False
        for events in (self._output, self._others):
            while events and events[0].number <= note.upto:
                self._bytes -= len(events.popleft().body)

    def ask(self, command: str, arguments: bytes, answered: Callable[[Message | None], None]) -> None:
        """Raises ValueError or NotHeldError, as ``Held.send``."""
        self._next_ask += 1
        number = self._next_ask
        self._asked_ns[number] = (command, time.time_ns())

        def done(message: Message | None) -> None:
            self._asked_ns.pop(number, None)
            answered(message)

        try:
            self.held.send(command, arguments, done)
        except (ValueError, NotHeldError):
            del self._asked_ns[number]
            raise

    def carry_out_will(self) -> None:
        """Nobody came: leave the worker as its hub wanted it left. Once; in the background."""
        if self._leaving is None:
            self._leaving = asyncio.ensure_future(self._carry_out_will())

    def stay(self) -> None:
        """A hub has come, after all. What of the will has been done stays done."""
        if self._leaving is not None and not self._left:
            self._leaving.cancel()
            self._leaving = None

    async def _carry_out_will(self) -> None:
        log.info("no hub came for the session of %s: its worker is released", self.name[:8])
        self._freed = True
        for one in self._will:
            if one.if_busy and not self.held.asked:
                continue
            if one.command == "disconnect":
                await self.held.quiet.wait()  # an evaluation may take its time, and a hub come meanwhile
                self._left = True
            try:
                await self.held.ask(one.command, one.arguments, WILL_STEP_S)
            except asyncio.TimeoutError:
                log.warning("%s got no answer in %g s", one.command, WILL_STEP_S)
            except (ValueError, NotHeldError) as error:
                log.warning("%s: %s", one.command, error)
        self._left = True
        self.held.close()

    def _event(self, message: Message) -> None:
        self._number += 1
        event = KeptEvent(self._number, time.time_ns(), message.event, bytes(message.body))
        (self._output if event.event == "output" else self._others).append(event)
        self._bytes += len(event.body)
        while len(self._output) + len(self._others) > MAX_EVENTS or self._bytes > MAX_EVENT_BYTES:
            # What was printed goes first: where threads stand must not be lost to a loop that prints.
            self._bytes -= len((self._output or self._others).popleft().body)
            self._dropped += 1
        self._tell_event(event)

    def _end(self, reason: str) -> None:
        if self._left:
            reason = "no hub came for it, so its worker was released"
        self.ended = reason
        self._asked_ns.clear()
        self._tell_end(reason)
