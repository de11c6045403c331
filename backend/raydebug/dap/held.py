"""One connection to a debugpy adapter: whoever has it owns the sequence numbers, and the worker is resumed when it
drops. So it is held by the keeper, which does little and lives long.

An adapter dies of an answer that it can't deliver, and its worker waits at the next ``breakpoint()`` for nobody, for
good. So ``disconnect`` goes out, and the socket is closed, only when all else that was asked has been answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from raydebug.dap.commands import ALLOWED
from raydebug.dap.framing import FrameReader, FramingError, Message, request_frame, response_frame

CONNECT_S: Final = 10.0
MAX_UNSENT: Final = 16 << 20
"""An adapter that leaves so much unread is broken or hostile."""
LINGER_S: Final = 5.0
"""So long an adapter may take to read the last that was written."""

log = logging.getLogger(__name__)

_QUICKACK: Final = getattr(socket, "TCP_QUICKACK", None)


class NotHeldError(Exception):
    """The connection is over, or was never made; the text says why."""


@dataclass(frozen=True)
class Asked:
    """A request that hasn't been answered. ``at``: monotonic seconds."""

    command: str
    at: float
    answered: Callable[[Message | None], None]
    """None: the connection ended before the answer came."""


class Held:
    """``on_event`` gets each event, ``on_end`` the reason of the end, once. Both are called in the loop."""

    def __init__(self, on_event: Callable[[Message], None], on_end: Callable[[str], None]) -> None:
        self._on_event: Final = on_event
        self._on_end: Final = on_end
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._seq = 0
        self.asked: dict[int, Asked] = {}
        """By sequence number."""
        self.quiet: Final = asyncio.Event()
        """All that was asked has been answered."""
        self.quiet.set()
        self._goodbye: bytes | None = None
        """The frame of ``disconnect``, while it waits for the answers to what was asked before."""
        self._over = False
        """For our side: nobody listens any more, and nothing more is asked."""
        self.closed: Final = asyncio.Event()
        """The socket, too."""

    async def connect(self, host: str, port: int) -> None:
        """Raises OSError or asyncio.TimeoutError."""
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), CONNECT_S)
        self._writer = writer
        self._reading = asyncio.create_task(self._read(reader, writer.get_extra_info("socket")))

    @property
    def local_port(self) -> int | None:
        """Ours of the connection."""
        return self._writer.get_extra_info("sockname")[1] if self._writer is not None else None

    def send(self, command: str, arguments: bytes, answered: Callable[[Message | None], None]) -> None:
        """Ask. Raises ValueError for a command that debugpy doesn't know, NotHeldError when the connection is over."""
        if command not in ALLOWED:
            raise ValueError(f"{command[:100]!r} isn't a command that debugpy knows")
        if self._writer is None or self._over:
            raise NotHeldError("there is no connection to debugpy")
        if self._goodbye is not None:
            raise NotHeldError("this session is being left")
        self._seq += 1
        frame = request_frame(self._seq, command, arguments)
        if command == "disconnect" and self.asked:
            self._goodbye = frame
        self.asked[self._seq] = Asked(command, time.monotonic(), answered)
        self.quiet.clear()
        if self._goodbye is None:
            self._write(frame)

    async def ask(self, command: str, arguments: bytes, timeout: float | None = None) -> Message:
        """Ask and wait. Raises as ``send`` does, NotHeldError at the end, asyncio.TimeoutError (the question stays)."""
        answer: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()

        def answered(message: Message | None) -> None:
            if not answer.done():
                answer.set_result(message)

        self.send(command, arguments, answered)
        message = await asyncio.wait_for(answer, timeout)
        if message is None:
            raise NotHeldError("the connection to debugpy ended before it answered")
        return message

    def close(self, reason: str = "closed") -> None:
        """End it, for our side at once; the worker is resumed by that, if it hasn't been.

        The socket stays until all has been answered, or the worker has ended.
        """
        if not self.asked:
            self._end(reason)
        elif not self._over:
            for number, one in list(self.asked.items()):
                self.asked[number] = Asked(one.command, one.at, _nobody)
                one.answered(None)
            self._over = True
            self._on_end(reason)

    async def _read(self, reader: asyncio.StreamReader, sock: socket.socket) -> None:
        frames = FrameReader()
        reason = "debugpy closed the connection"
        try:
            while data := await reader.read(1 << 16):
                _acknowledge(sock)
                for message in frames.feed(data):
                    if self._writer is None:
                        return
                    self._take(message)
        except FramingError as error:
            reason = f"debugpy said what isn't DAP: {error}"
        except OSError as error:
            reason = f"the connection to debugpy broke: {error}"
        except Exception as error:
            log.exception("what debugpy said can't be handled")
            reason = f"what debugpy said can't be handled: {error}"
        self._end(reason)

    def _take(self, message: Message) -> None:
        if message.type == "event":
            if not self._over:
                self._on_event(message)
            elif message.event == "terminated":
                self._end("the process has ended")
        elif message.type == "response":
            asked = self.asked.pop(message.request_seq, None)
            if asked is not None:
                asked.answered(message)
            if not self.asked:
                self.quiet.set()
            if self._goodbye is not None and len(self.asked) == 1:
                frame, self._goodbye = self._goodbye, None
                self._write(frame)
            elif self._over and not self.asked:
                self._end("closed")
        elif self._writer is not None:
            # Of an adapter's own requests (runInTerminal, startDebugging) none is for us.
            self._seq += 1
            refusal = response_frame(
                self._seq, message.seq, message.command[:100], success=False, message="raydebug doesn't do this"
            )
            self._write(refusal)

    def _write(self, frame: bytes) -> None:
        writer = self._writer
        if writer is None:
            return
        writer.write(frame)
        if writer.transport.get_write_buffer_size() > MAX_UNSENT:
            writer.transport.abort()
            self._end("debugpy doesn't read what it is asked")

    def _end(self, reason: str) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        writer.close()
        self.closed.set()
        asyncio.get_running_loop().call_later(LINGER_S, writer.transport.abort)
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
        asked, self.asked = list(self.asked.values()), {}
        self.quiet.set()
        for one in asked:
            one.answered(None)
        if not self._over:
            self._over = True
            self._on_end(reason)


def _nobody(_: Message | None) -> None:
    """Gets an answer for which nobody waits any more."""


def _acknowledge(sock: socket.socket) -> None:
    """Acknowledge at once what came: the adapter's socket has no TCP_NODELAY, so an event that follows a response would
    wait 40 ms for our delayed acknowledgement. Linux forgets the option, so it is set after each read."""
    if _QUICKACK is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, _QUICKACK, 1)
