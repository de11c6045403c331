"""The worker that a console is attached to: where it stands, and what comes from it."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from raydebug.api.debug import DebugSession, DebugThread
from raydebug.api.errors import ErrorBody
from raydebug.cli.debugging import outcome_of, session_of
from raydebug.cli.live import Live, LiveError

_SHOWN: Final = ("stdout", "stderr", "log", "note")
_AWAY_S: Final = 60.0
_NOTED: Final = 500
"""Characters of a value in the hub's note of it."""
_OVER: Final = ("ended", "failed")


class Source(msgspec.Struct, frozen=True):
    """``changed``: since the process imported it."""

    text: str
    changed: bool


class Worker:
    """``output`` is called with kind and text of what it prints, ``stopped`` with each new stop, ``over`` once,
    ``back`` when another hub has taken the session over."""

    def __init__(
        self,
        live: Live,
        worker_id: str,
        output: Callable[[str, str], None],
        stopped: Callable[[DebugThread], Awaitable[None]],
        over: Callable[[str], None],
        back: Callable[[], Awaitable[None]],
    ) -> None:
        self.live: Final = live
        self.id: Final = worker_id
        self._output: Final = output
        self._stopped: Final = stopped
        self._over: Final = over
        self._back: Final = back
        self._since = 0
        self._told: dict[int, int] = {}
        self._stops_told = 0
        self._arrival: Final = asyncio.Condition()
        self._draining: Final = asyncio.Lock()
        self._sources: dict[str, Source] = {}
        self._lost = False
        self._own_notes: Counter[str] = Counter()
        self.leaving = False
        """Whoever ends the session says so himself."""
        self.ended: str | None = None
        self.following: asyncio.Task[None] | None = None

    @property
    def row(self) -> DebugSession | None:
        return session_of(self.live, self.id)

    @property
    def threads(self) -> list[DebugThread]:
        row = self.row
        return row.threads if row is not None else []

    def thread(self, number: int | None) -> DebugThread | None:
        return next((thread for thread in self.threads if thread.threadId == number), None)

    async def ask(self, command: str, **arguments: Any) -> Any:
        """Where the hub is away, once it is back. Raises LiveError."""
        if self.live.away:
            try:
                await self.live.back(_AWAY_S)
            except asyncio.TimeoutError as error:
                raise LiveError(ErrorBody("away", "The hub is still away; it is tried again.")) from error
        return await self.live.debug(self.id, command, **arguments)

    # What comes by itself ------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Follow it from here on; what it printed before isn't told."""
        row = self.row
        self._since = row.console_end if row is not None else 0
        await self._look()
        self.following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        try:
            while await self._follow_one():
                pass
        except LiveError as error:
            self._end(f"{error.body.message} The worker stays as it is; attach again.")
        finally:
            async with self._arrival:
                self._arrival.notify_all()

    async def _follow_one(self) -> bool:
        """What one hub tells; whether there is another. Raises LiveError if that can't be reached."""
        live, generation = self.live, self.live.generation
        try:
            while live.generation == generation:
                if not await self._look():
                    return False
                await live.until(functools.partial(self._is_other, self.row, generation))
        except LiveError as error:
            if error.body.code not in ("lost", "away"):
                raise
            await live.back()
        await self._resume()
        return True

    def _is_other(self, row: DebugSession | None, generation: int) -> bool:
        return self.row is not row or self.live.generation != generation

    async def _resume(self) -> None:
        """Go on with another hub, which may not have heard the last of what the one before told."""
        row = self.row
        if row is not None:
            self._since = min(self._since, row.console_end)
            for thread in row.threads:
                if thread.stop < self._told.get(thread.threadId, 0):
                    del self._told[thread.threadId]
            await self._back()

    async def _look(self) -> bool:
        """Tell what is new; whether the session goes on."""
        row = self.row
        if row is None:
            last = self.live.tables.get("sessions", {}).get(self.id)
            self._end(last.note or last.state if last is not None and last.state in _OVER else "it was detached")
            return False
        await self.drain()
        if (row.lost_ns is not None) != self._lost:
            self._lost = row.lost_ns is not None
            note = row.note or "the worker can't be reached now"
            self._output("note", f"{note if self._lost else 'reached again'}\n")
        for thread in row.threads:
            if is_there(thread) and thread.stop > self._told.get(thread.threadId, 0):
                await self.drain_all()  # it printed that before
                await self._stopped(thread)
                # Only now: who waits for it finds it selected.
                self._told[thread.threadId] = thread.stop
                self._stops_told += 1
                async with self._arrival:
                    self._arrival.notify_all()
        return True

    def _end(self, why: str) -> None:
        if self.ended is None:
            self.ended = why
            if not self.leaving:
                self._over(why)

    async def drain(self) -> None:
        """Tell what it printed up to now."""
        async with self._draining:
            row = self.row
            if row is None or row.console_end <= self._since:
                return
            await self._fetch()

    async def drain_all(self) -> None:
        """The same, without waiting for the row that says that there is something."""
        async with self._draining:
            await self._fetch()

    async def _fetch(self) -> None:
        told = await self.live.debug(self.id, "console", since=self._since)
        self._since = told["end"]
        for entry in told["entries"]:
            if entry["kind"] == "note" and self._own_notes[entry["text"]] > 0:
                self._own_notes[entry["text"]] -= 1
            elif entry["kind"] in _SHOWN:
                # A note is a line of its own; the others are as the program cut them.
                self._output(entry["kind"], entry["text"] + ("\n" if entry["kind"] == "note" else ""))

    # What is waited for --------------------------------------------------------------------------------------------

    def last_stop(self) -> int:
        """How many stops were told."""
        return self._stops_told

    async def next_stop(self, after: int, timeout: float | None) -> bool:
        """Wait until more stops were told than ``after``; False when none came, or the session ended."""

        async def wait() -> bool:
            async with self._arrival:
                while self.last_stop() <= after:
                    if self.ended is not None or (self.following is not None and self.following.done()):
                        return False
                    await self._arrival.wait()
                return True

        try:
            return await asyncio.wait_for(wait(), timeout)
        except asyncio.TimeoutError:
            return False

    async def evaluate(self, expression: str, frame_id: int | None) -> dict[str, Any]:
        """DAP's answer, however long it takes. Raises LiveError; its hint is the traceback, where it raised."""
        since = self._since
        frame = {} if frame_id is None else {"frameId": frame_id}
        said: dict[str, Any] = await self.ask("evaluate", expression=expression, context="repl", **frame)
        if not said.get("waiting"):
            return said
        entry = await outcome_of(self.live, self.id, said["evaluation"], since)
        if entry["kind"] == "error":
            last = entry["text"].rstrip().rpartition("\n")[2]
            raise LiveError(ErrorBody("failed", last, entry["text"]))
        return {**entry, "result": entry["text"]}

    async def set(self, frame_id: int, name: str, value: str) -> str:
        """Assign; the value that it has then. Raises LiveError."""
        # The hub tells all who look, whoever asked, too.
        note = f"{name} = {value[:_NOTED]}"
        self._own_notes[note] += 1
        try:
            said = await self.ask("setVariable", frameId=frame_id, evaluateName=name, value=value)
            await self.drain_all()
        finally:
            del self._own_notes[note]
        return str(said["result"])

    async def source(self, path: str) -> Source:
        """As the worker has it; asked for once. Raises LiveError."""
        if path not in self._sources:
            told = await self.ask("source", path=path)
            self._sources[path] = Source(told["text"], bool(told.get("changed")))
        return self._sources[path]


def is_there(thread: DebugThread) -> bool:
    """Stopped, and it is known where."""
    return thread.state == "stopped" and (thread.function is not None or thread.file is not None)
