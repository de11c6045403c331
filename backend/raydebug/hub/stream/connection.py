"""One live websocket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from raydebug.api.errors import ErrorBody
from raydebug.api.names import PROTOCOL
from raydebug.api.stream import (
    ClientMessage,
    Debug,
    Hello,
    HubMessage,
    ListGrants,
    MakeGrant,
    Ping,
    Pong,
    QueryTasks,
    QueryTimeline,
    Refused,
    Reply,
    RevokeGrant,
    Subscribe,
    Unsubscribe,
    Welcome,
)
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.errors import AccessError
from raydebug.hub.access.gate import Access, Asked
from raydebug.hub.access.rules import COMMANDS, MESSAGES, TOPICS
from raydebug.hub.model.timeline.timeline import TaskTimeline
from raydebug.hub.model.views import Sight
from raydebug.hub.stream.frames import Frame, frame
from raydebug.hub.stream.publisher import Publisher

logger = logging.getLogger(__name__)

MAX_FRAME: Final = 1 << 20
HELLO_S: Final = 5.0
HEARTBEAT_S: Final = 20.0
_DRAINED: Final = 64 * 1024
"""Up to here a socket counts as drained: a patch may go out while the last is still on its way."""
_CLOSE_S: Final = 1.0
_MOST_TASKS: Final = 1000
_MOST_CALLS: Final = 64
"""Debugger commands that a connection may have under way."""
_PROTOCOLS: Final = (PROTOCOL, PROTOCOL - 1)

_decoder: Final = msgspec.msgpack.Decoder(ClientMessage)


class Debugger(Protocol):
    """What carries out the commands of the debugger; its errors are LookupError, ValueError and AccessError."""

    async def call(self, caller: Caller, worker_id: str, command: str, arguments: dict[str, Any]) -> Any: ...


class _RefusedError(Exception):
    def __init__(self, body: ErrorBody, code: int) -> None:
        super().__init__(body.message)
        self.body = body
        self.code = code


def _bad(message: str) -> _RefusedError:
    return _RefusedError(ErrorBody("bad_message", message), WSCloseCode.UNSUPPORTED_DATA)


class Connection:
    """A viewer. What it is sent is written to the transport as ready frames; aiohttp writes only control frames."""

    def __init__(
        self,
        ws: web.WebSocketResponse,
        transport: asyncio.Transport,
        asked: Asked,
        caller: Caller,
        access: Access,
        publisher: Publisher,
        welcome: Callable[[Caller], Welcome],
        timeline: TaskTimeline,
        debugger: Debugger | None,
    ) -> None:
        self.caller = caller
        self._timeline = timeline
        self._debugger = debugger
        self._calls: set[asyncio.Task[None]] = set()
        self._ws = ws
        self._transport = transport
        self._asked = asked
        self._access = access
        self._publisher = publisher
        self._welcome = welcome
        # aiohttp gives the window's bits that were negotiated; 0 or False: no compression
        self.deflate = int(ws.compress) == 15

    # As the publisher sees it ------------------------------------------------------------------------------------

    @property
    def sight(self) -> Sight:
        return Sight(self.caller.jobs, self.caller.reads_messages)

    def ready(self) -> bool:
        return not self._transport.is_closing() and self._transport.get_write_buffer_size() <= _DRAINED

    def send(self, frame: Frame) -> None:
        if not self._transport.is_closing() and not self._ws.closed:
            self._transport.write(frame.bytes_for(self.deflate))

    # Its life ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until the client leaves, breaks the rules, or its right ends."""
        try:
            hello = await self._receive(HELLO_S)
            if hello is None:
                return
            self._greet(hello)
            while (message := await self._receive(None)) is not None:
                self._handle(message)
                await self._drained()
        except _RefusedError as error:
            await self.refuse(error.body, error.code)
        except AccessError as error:
            await self.refuse(error.body)
        finally:
            self._publisher.forget(self)
            for call in self._calls:
                call.cancel()

    async def refuse(self, body: ErrorBody, code: int = WSCloseCode.POLICY_VIOLATION) -> None:
        """Say why, then close."""
        if self.ready():
            self.send(frame(Refused(error=body)))
        await self.close(code, body.code)

    async def close(self, code: int = WSCloseCode.GOING_AWAY, reason: str = "") -> None:
        """Close in order if the client reads, at once if it doesn't."""
        self._publisher.forget(self)
        if self.ready():
            with contextlib.suppress(asyncio.TimeoutError, ConnectionError, RuntimeError):
                await asyncio.wait_for(self._ws.close(code=code, message=reason.encode()[:120]), _CLOSE_S)
                return
        self._transport.abort()

    async def _drained(self) -> None:
        """Hear no more of a client that doesn't read its answers: they would pile up."""
        while not self._transport.is_closing() and not self.ready():  # noqa: ASYNC110 (aiohttp owns the protocol)
            await asyncio.sleep(0.05)

    async def _receive(self, timeout: float | None) -> ClientMessage | None:
        """The next message; None when the client has left."""
        try:
            got = await asyncio.wait_for(self._ws.receive(), timeout)
        except asyncio.TimeoutError:
            body = ErrorBody("no_hello", f"No hello came within {HELLO_S:.0f} s.")
            raise _RefusedError(body, WSCloseCode.POLICY_VIOLATION) from None
        if got.type is WSMsgType.BINARY:
            try:
                return _decoder.decode(got.data)
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                raise _bad(f"A message that isn't one of this protocol's: {error}"[:300]) from error
        if got.type is WSMsgType.TEXT:
            raise _bad("A text frame; expected binary frames of msgpack.")
        return None

    def _greet(self, hello: ClientMessage) -> None:
        if not isinstance(hello, Hello):
            raise _bad("The first message must be hello.")
        if hello.protocol not in _PROTOCOLS:
            message = f"This hub speaks protocol {PROTOCOL}, the client {hello.protocol}."
            body = ErrorBody("protocol", message, "Reload the page, or install the same version on both sides.")
            raise _RefusedError(body, WSCloseCode.POLICY_VIOLATION)
        if hello.token is not None:
            self.caller = self._access.sign_in(self.caller, hello.token)
        self._say(self._welcome(self.caller))

    def _say(self, message: HubMessage) -> None:
        self.send(frame(message))

    def _handle(self, message: ClientMessage) -> None:
        if isinstance(message, Hello):
            raise _bad("A second hello.")
        if isinstance(message, Ping):
            self._say(Pong(t=message.t))
        elif isinstance(message, Subscribe):
            self._access.require(self.caller, MESSAGES[Subscribe])
            self._access.require(self.caller, TOPICS[message.topic])
            self._publisher.subscribe(self, message.topic)
        elif isinstance(message, Unsubscribe):
            self._publisher.unsubscribe(self, message.topic)
        elif isinstance(message, Debug):
            if len(self._calls) >= _MOST_CALLS:
                text = f"{_MOST_CALLS} commands are under way on this connection, more aren't taken"
                self._say(Reply(id=message.id, error=ErrorBody("bad_query", text)))
                return
            # What a debugger's command asks for may take as long as user code takes: others go on meanwhile.
            call = asyncio.create_task(self._call(message))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
        else:
            self._say(self._reply(message))

    async def _call(self, message: Debug) -> None:
        reply = await self._answer(message)
        try:
            said = frame(reply)
        except (OverflowError, TypeError, ValueError, RecursionError) as error:
            # A number too large for msgpack, say: what a worker answers is anybody's.
            text = f"The worker's answer can't be passed on: {error}"
            said = frame(Reply(id=message.id, error=ErrorBody("failed", text[:300])))
        self.send(said)

    async def _answer(self, message: Debug) -> Reply:
        try:
            self._access.require(self.caller, MESSAGES[Debug])
            self._access.require(self.caller, COMMANDS.get(message.command, "debug"))
            if message.command not in COMMANDS:
                raise ValueError(f"{message.command[:100]!r} isn't a command; there are {', '.join(sorted(COMMANDS))}")
            if self._debugger is None:
                raise LookupError("this hub has no debugger")
            body = await self._debugger.call(self.caller, message.worker_id, message.command, message.arguments)
            return Reply(id=message.id, debug=body)
        except AccessError as error:
            return Reply(id=message.id, error=error.body)
        except LookupError as error:
            return Reply(id=message.id, error=ErrorBody("unknown", str(error.args[0] if error.args else error)))
        except ValueError as error:
            return Reply(id=message.id, error=ErrorBody("bad_query", str(error)))
        except Exception:
            logger.exception("the debugger's %s failed", message.command[:100])
            return Reply(id=message.id, error=ErrorBody("internal", "The hub failed on this.", "See its log."))

    def _reply(self, message: MakeGrant | ListGrants | RevokeGrant | QueryTimeline | QueryTasks) -> Reply:
        try:
            self._access.require(self.caller, MESSAGES[type(message)])
            if isinstance(message, QueryTimeline):
                return Reply(id=message.id, marks=self._timeline.marks(message, self.sight, time.time_ns()))
            if isinstance(message, QueryTasks):
                if message.limit > _MOST_TASKS:
                    raise ValueError(f"limit is {message.limit}, at most {_MOST_TASKS} over the websocket")
                return Reply(id=message.id, tasks=self._timeline.tasks(message, self.sight, time.time_ns()))
            if isinstance(message, MakeGrant):
                made = self._access.make_grant(self.caller, message.grant, self._asked.base_url)
                return Reply(id=message.id, made=made)
            if isinstance(message, ListGrants):
                return Reply(id=message.id, grants=self._access.list_grants(self.caller).grants)
            return Reply(id=message.id, grants=self._access.revoke_grant(self.caller, message.grant_id).grants)
        except AccessError as error:
            return Reply(id=message.id, error=error.body)
        except LookupError as error:
            return Reply(id=message.id, error=ErrorBody("unknown", str(error.args[0] if error.args else error)))
        except ValueError as error:
            return Reply(id=message.id, error=ErrorBody("bad_query", str(error)))
