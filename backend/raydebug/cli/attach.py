"""``raydebug attach``: a console in the terminal on one worker."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import click
from rich.text import Text

from raydebug.api.debug import DebugSession

from .client import Client, connect, connection_options
from .console.commands import Console, Leave
from .console.paper import Paper, Reader
from .console.parse import UsageError, goes_on, parse
from .console.worker import is_there
from .debugging import at_site, command_error, debugger, known, session_of, standing
from .debugging import attach as attach_to
from .errors import CommandError
from .live import Live, LiveError
from .screen import data, row
from .targets import Chosen, resolve_one
from .words import clean, count

T = TypeVar("T")

PATIENCE_S: Final = 30.0
_COMPLETE_S: Final = 2.0
_SAID_S: Final = 2.0


@click.command()
@click.argument("target", metavar="TARGET")
@connection_options
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=PATIENCE_S,
    show_default=True,
    help="Seconds that a script on stdin waits for a stop or a value.",
)
def attach(target: str, address: str | None, token: str | None, timeout: float) -> None:
    """A console on one worker: TARGET is a worker id prefix, GROUP:RANK, or a GROUP or site:ID of one worker.

    Plain text is evaluated where the worker stands; `:help` lists the commands. Leaving with `:quit` or Ctrl-D leaves
    it attached and stopped, `:detach` lets it run. Lines can come from a pipe: then the exit code is 1 if one failed.
    """
    _Terminal(connect(address, token), target, timeout).run()


class _Terminal:
    """Input in the main thread, where Ctrl-C arrives and readline works; all else in a loop of its own."""

    def __init__(self, client: Client, target: str, timeout: float) -> None:
        self._client = client
        self._target = target
        self._timeout = timeout
        self._paper = Paper()
        self._reader = Reader(self._paper, self._complete)
        self._loop = asyncio.new_event_loop()
        self._console: Console | None = None
        self._typing = False
        self._prompt = ""

    def run(self) -> None:
        thread = threading.Thread(target=self._loop.run_forever, name="hub", daemon=True)
        thread.start()
        done = threading.Event()
        closing: asyncio.Event = self._call(_event())
        began: concurrent.futures.Future[None] = concurrent.futures.Future()
        whole = asyncio.run_coroutine_threadsafe(self._connected(closing, began), self._loop)
        whole.add_done_callback(lambda _: done.set())
        try:
            concurrent.futures.wait([whole, began], return_when=concurrent.futures.FIRST_COMPLETED)
            if began.done():
                self._lines()
                self._unread()
        except KeyboardInterrupt:
            raise CommandError("Stopped waiting.") from None
        finally:
            self._loop.call_soon_threadsafe(closing.set)
            done.wait(5)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(1)
        if self._paper.broken is not None:
            raise self._paper.broken
        if whole.done():
            whole.result()
        if self._console is not None and self._console.failed and self._reader.piped:
            raise SystemExit(1)

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _connected(self, closing: asyncio.Event, began: concurrent.futures.Future[None]) -> None:
        async with debugger(self._client, self._link) as live:
            chosen = resolve_one(self._target, known(live))
            try:
                session = await self._attached(live, chosen)
            except LiveError as error:
                raise command_error(error) from error
            live.settled = lambda: _is_whole(live.tables.get("sessions", {}).get(chosen.worker_id))
            self._prompt = f"({clean(chosen.label)[:40]}) "
            patience = self._timeout if self._reader.piped else None
            self._console = Console(live, chosen.worker_id, self._paper, patience, self._wake)
            self._paper.put(_header(chosen, session))
            await self._console.begin(at_site(live, chosen) if chosen.site else set())
            began.set_result(None)
            await closing.wait()
            await self._console.close()

    def _link(self, up: bool) -> None:
        if up:
            self._paper.put(Text("The hub is there again: on with the same session.", style="green"))
        else:
            lost = "The connection to the hub was lost; the worker stays as it is. Trying again."
            self._paper.put(Text(lost, style="bold yellow"))

    async def _attached(self, live: Live, chosen: Chosen) -> DebugSession:
        if chosen.paused:
            await standing(live, chosen)
        found = await attach_to(live, chosen.worker_id)
        return session_of(live, chosen.worker_id) or found

    # The lines -----------------------------------------------------------------------------------------------------

    def _lines(self) -> None:
        console = self._console
        assert console is not None
        while console.worker.ended is None and self._paper.broken is None:
            try:
                line = self._read_whole()
            except KeyboardInterrupt:
                if self._reader.piped:
                    raise
                if console.worker.ended is None:
                    self._paper.put("")
                continue
            if line is None:
                line = ":quit"
                if not self._reader.piped:
                    self._paper.put("")
            if not self._handled(console, line):
                return

    def _handled(self, console: Console, line: str) -> bool:
        """False when the console ends."""
        over = threading.Event()

        async def handle() -> None:
            try:
                await console.handle(line)
            finally:
                over.set()

        work = asyncio.run_coroutine_threadsafe(handle(), self._loop)
        try:
            while True:
                try:
                    work.result()
                    return True
                except KeyboardInterrupt:
                    # What was asked of the worker goes on; only the waiting ends.
                    work.cancel()
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            # What it has to say comes before the next prompt, not into it.
            with contextlib.suppress(KeyboardInterrupt):
                over.wait(_SAID_S)
            return True
        except Leave:
            return False

    def _unread(self) -> None:
        """A script that hasn't come to its end, because its session has, has failed."""
        console = self._console
        assert console is not None
        if console.left or self._paper.broken is not None:
            return
        lines = not_carried_out(self._reader.rest())
        if lines:
            console.failed = True
            left = f"{count(len(lines), 'line')} of the script {'was' if len(lines) == 1 else 'were'} not carried out"
            self._paper.put(data(f"{left}, from {lines[0][:60]!r} on", "bold red"))

    def _read_whole(self) -> str | None:
        """A line, or more where Python waits for more: up to an empty one."""
        line = self._read(self._prompt)
        if line is None or not _is_python(line):
            return line
        whole = line
        while goes_on(whole):
            more = self._read("... ")
            if more is None:
                break
            whole += "\n" + more
        return whole

    def _read(self, prompt: str) -> str | None:
        self._typing = True
        try:
            return self._reader.read(prompt)
        finally:
            self._typing = False

    def _wake(self) -> None:
        """The session is over while somebody types: end the prompt."""
        if self._typing and not self._reader.piped:
            os.kill(os.getpid(), signal.SIGINT)

    def _complete(self, line: str, word: str) -> list[str]:
        if self._console is None:
            return []
        work = asyncio.run_coroutine_threadsafe(self._console.complete(line, word), self._loop)
        try:
            return work.result(_COMPLETE_S)
        except (LiveError, concurrent.futures.TimeoutError, KeyError):
            work.cancel()
            return []


def _is_whole(session: DebugSession | None) -> bool:
    """A new hub is up before keepers have told it what they hold, and knows of a stop before it knows where that is."""
    stopped = [thread for thread in session.threads if thread.state == "stopped"] if session is not None else []
    return session is not None and all(map(is_there, stopped))


async def _event() -> asyncio.Event:
    return asyncio.Event()


def not_carried_out(rest: list[str]) -> list[str]:
    """Of a script's unread lines those that somebody misses: up to the one that asks for the end, which has come."""
    missed = []
    for line in filter(str.strip, rest):
        with contextlib.suppress(UsageError):
            if parse(line).name in ("detach", "quit"):
                break
        missed.append(line.strip())
    return missed


def _is_python(line: str) -> bool:
    try:
        return parse(line).name == "evaluate"
    except UsageError:
        return False


def _header(chosen: Chosen, session: DebugSession) -> Text:
    return row(
        data(chosen.label, "bold"),
        f"pid {session.pid}",
        f"worker {session.worker_id[:12]}",
        data(f"Python {session.python}") if session.python else None,
        data(f"attached by {session.attached_by}", "dim"),
    )
