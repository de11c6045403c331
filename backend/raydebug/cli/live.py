"""A client of the live websocket: tables kept up to date, and the debugger's commands."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterable
from inspect import signature
from types import TracebackType
from typing import Any, Final

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from raydebug.api.errors import ErrorBody
from raydebug.api.names import PROTOCOL, URL_PREFIX
from raydebug.api.stream import Debug, Hello, HubMessage, Patch, Refused, Reply, Subscribe, Topic, Welcome

from .local import is_here

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(HubMessage).decode
_MOST: Final = 64 << 20
_KEYS: Final = {"paused": "site_id", "sessions": "worker_id", "actors": "actor_id", "groups": "group_id"}
_KEYS_MORE: Final = {"nodes": "node_id", "jobs": "job_id", "sources": "name"}
_AGAIN_S: Final = (0.1, 0.3, 0.5, 1.0, 2.0)
_SETTLE_S: Final = 30.0
GIVE_UP_S: Final = 600.0
"""As long as a keeper holds its workers for the next hub."""
_NO_PROXY: Final[dict[str, Any]] = {"proxy": None} if "proxy" in signature(connect).parameters else {}
"""websockets 15 and later go through the environment's proxy, to this machine, too."""


class LiveError(Exception):
    """The hub said no, or can't be reached."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(body.message)
        self.body = body


class Live:
    """``async with Live(url, token) as live``. ``url``: the dashboard's, ``http://host:port``.

    ``tables``: table -> key -> row, of the topics subscribed to. Raises LiveError.

    ``news``: given by who wants to outlast the hub: called with False when the connection is lost, which is tried again
    then, and with True when it is there again and ``settled``. What is asked meanwhile is refused with code ``away``,
    what is waited for waits on. ``generation`` counts the connections.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        headers: Iterable[tuple[str, str]] = (),
        news: Callable[[bool], None] | None = None,
    ) -> None:
        self._url: Final = "ws" + url.rstrip("/").removeprefix("http") + URL_PREFIX + "/ws"
        self._token: Final = token
        self._headers: Final = list(headers)
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._ids: Final = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Reply]] = {}
        self._news: Final = asyncio.Condition()
        self._refused: ErrorBody | None = None
        self.tables: dict[str, dict[str, Any]] = {}
        self.loaded: set[Topic] = set()
        self.welcome: Welcome | None = None
        self._news_of_link: Final = news
        self._topics: dict[Topic, None] = {}
        self._opening: asyncio.Task[None] | None = None
        self.generation = 1
        self.settled: Callable[[], bool] = lambda: True
        """Whether a new hub knows what the one before did: it is up before it has heard all keepers."""

    async def __aenter__(self) -> Live:
        await self._open()
        return self

    async def _open(self) -> None:
        self.welcome, self._refused = None, None
        try:
            self._socket = await connect(
                self._url,
                additional_headers=self._headers,
                max_size=_MOST,
                compression=None,
                open_timeout=10,
                **(_NO_PROXY if is_here(self._url.replace("ws", "http", 1)) else {}),
            )
        except InvalidStatus as error:
            status = error.response.status_code
            raise LiveError(ErrorBody(f"http_{status}", f"{self._url} answered HTTP {status}.")) from error
        except (OSError, asyncio.TimeoutError, WebSocketException) as error:
            raise LiveError(ErrorBody("unreachable", f"{self._url} can't be reached: {error}")) from error
        self._reading = asyncio.create_task(self._read(self._socket))
        try:
            await self._socket.send(_encode(Hello(protocol=PROTOCOL, token=self._token)))
            await self._wait(lambda: self.welcome is not None, 10, opening=True)
        except ConnectionClosed as error:
            raise LiveError(self._refused or _lost()) from error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._topics.clear()  # its end is no loss any more
        if self._opening is not None:
            self._opening.cancel()
        await self._close_socket()

    async def subscribe(self, *topics: Topic) -> None:
        """Returns when the tables of all are there."""
        self._topics.update(dict.fromkeys(topics))
        await self._subscribe(topics)

    async def _subscribe(self, topics: Iterable[Topic]) -> None:
        assert self._socket is not None
        try:
            for topic in topics:
                await self._socket.send(_encode(Subscribe(topic=topic)))
        except ConnectionClosed as error:
            raise LiveError(self._refused or _lost()) from error
        await self._wait(lambda: self.loaded >= set(topics), 20, opening=True)

    async def debug(self, worker_id: str, command: str, **arguments: Any) -> Any:
        """A command of the debugger; its body, of plain dicts and lists."""
        assert self._socket is not None
        if self.away:
            raise LiveError(ErrorBody("away", "The hub is away."))
        number = next(self._ids)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        message = Debug(id=number, worker_id=worker_id, command=command, arguments=arguments)
        try:
            await self._socket.send(_encode(message))
            reply = await answer
        except ConnectionClosed as error:
            raise LiveError(self._refused or _lost()) from error
        finally:
            self._asked.pop(number, None)
        if reply.error is not None:
            raise LiveError(reply.error)
        return reply.debug

    async def until(self, holds: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until ``holds`` is true of the tables; what it gave. Raises LiveError, asyncio.TimeoutError."""
        return await self._wait(lambda: not self.away and holds(), timeout)

    @property
    def away(self) -> bool:
        """The connection was lost, and is tried again."""
        return self._opening is not None

    async def back(self, timeout: float | None = None) -> None:
        """Wait until it is there again. Raises LiveError when that was given up, asyncio.TimeoutError."""
        await self.until(lambda: True, timeout)

    async def _wait(self, holds: Callable[[], Any], timeout: float | None, opening: bool = False) -> Any:
        """``opening``: asked by who opens the connection, for whom its end is a failure, while others wait on."""

        async def wait() -> Any:
            async with self._news:
                while not (found := holds()):
                    if self._reading is None and (opening or not self.away):
                        raise LiveError(self._refused or _lost())
                    await self._news.wait()
                return found

        return await asyncio.wait_for(wait(), timeout)

    async def _open_again(self, news: Callable[[bool], None]) -> None:
        """Until all is as it was, or was refused, or tried for too long."""
        deadline = time.monotonic() + GIVE_UP_S
        try:
            for attempt in itertools.count():
                await asyncio.sleep(_AGAIN_S[min(attempt, len(_AGAIN_S) - 1)])
                try:
                    self.loaded = set()
                    await self._open()
                    await self._subscribe(self._topics)
                    with contextlib.suppress(asyncio.TimeoutError):
                        await self._wait(self.settled, _SETTLE_S, opening=True)
                    break
                except (LiveError, asyncio.TimeoutError) as error:
                    if self._refused is not None or _is_refusal(error) or time.monotonic() > deadline:
                        self._refused = self._refused or getattr(error, "body", None)
                        return
                    await self._close_socket()
            self.generation += 1
        finally:
            self._opening = None
            async with self._news:
                self._news.notify_all()
        news(True)

    def _was_lost(self) -> None:
        # Before it was subscribed to anything its maker is told.
        if self._news_of_link is not None and self._refused is None and self._topics and not self.away:
            self._opening = asyncio.ensure_future(self._open_again(self._news_of_link))
            self._news_of_link(False)

    async def _close_socket(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        if self._socket is not None:
            with contextlib.suppress(ConnectionClosed, OSError):
                await self._socket.close()

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for frame in socket:
                if isinstance(frame, bytes):
                    await self._take(_decode(frame))
        except ConnectionClosed:
            pass
        finally:
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(LiveError(self._refused or _lost()))
            if self._socket is socket:
                self._reading = None
                self._was_lost()
            async with self._news:
                self._news.notify_all()

    async def _take(self, message: HubMessage) -> None:
        if isinstance(message, Reply):
            answer = self._asked.get(message.id)
            if answer is not None and not answer.done():
                answer.set_result(message)
            return
        if isinstance(message, Welcome):
            self.welcome = message
        elif isinstance(message, Refused):
            self._refused = message.error
        elif isinstance(message, Patch):
            self._patch(message)
        async with self._news:
            self._news.notify_all()

    def _patch(self, patch: Patch) -> None:
        for name in patch.tables.__struct_fields__:
            change = getattr(patch.tables, name)
            if change is None:
                continue
            key = _KEYS.get(name) or _KEYS_MORE.get(name)
            if key is None:
                continue
            rows = {} if patch.full else dict(self.tables.get(name, {}))
            rows.update({str(getattr(row, key)): row for row in change.set})
            for gone in change.drop:
                rows.pop(gone, None)
            self.tables[name] = rows
        self.loaded.add(patch.topic)


def _lost() -> ErrorBody:
    return ErrorBody("lost", "The connection to the hub ended.")


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, LiveError) and error.body.code in ("http_401", "http_403")
