"""The debugger of a real cluster, driven over the live websocket as a page does it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from raydebug.api.debug import ConsoleEntry, DebugSession, DebugThread
from raydebug.api.paused import PausedSite, PausedThread
from raydebug.cli.live import Live, LiveError
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in

PATIENCE = 30.0
"""For what takes a second, on a machine that others keep busy."""


@contextlib.contextmanager
def debug_cluster(**options: Any) -> Iterator[RayCluster]:
    """A head with the plugin, once the hub serves."""
    plugin_in()
    with RayCluster(**{"num_cpus": 2, **options}) as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url), timeout=120)
        yield cluster


class Job:
    """A driver in the background. ``lines``: what it has printed."""

    def __init__(self, cluster: RayCluster, script: Path, *arguments: str) -> None:
        self.process = cluster.run_script(str(script), *arguments, env={"PYTHONUNBUFFERED": "1"})
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        # Not to be read to its end by others: its debug adapter outlives it, with the other end of this pipe.
        for line in self.process.stdout or ():
            print(f"job: {line}", end="")  # shown with a test that fails
            self.lines.append(line.rstrip("\n"))

    async def said(self, text: str, since: int = 0, timeout: float = PATIENCE) -> str:
        """Wait for a line that holds this text."""
        deadline = time.monotonic() + timeout
        while True:
            for line in self.lines[since:]:
                if text in line:
                    return line
            assert time.monotonic() < deadline, f"no {text!r} in {self.lines[since:]}"
            await asyncio.sleep(0.02)


@contextlib.contextmanager
def job(cluster: RayCluster, script: Path, *arguments: str) -> Iterator[Job]:
    started = Job(cluster, script, *arguments)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


@contextlib.asynccontextmanager
async def live(cluster: RayCluster, token: str | None = None) -> AsyncIterator[Live]:
    """A client that follows what is paused and the sessions. ``token``: the cluster's own if None."""
    async with Live(cluster.url, token or cluster.debugger["X-Raydebug-Token"]) as client:
        await client.subscribe("paused", "debug", "topology")
        yield client


async def refused(work: Any) -> str:
    """The code with which a command is refused."""
    try:
        got = await work
    except LiveError as error:
        return error.body.code
    raise AssertionError(f"it was not refused: {got!r}")


def places(client: Live, script: Path, line: int) -> PausedSite | None:
    sites = client.tables["paused"].values()
    return next((site for site in sites if site.file == str(script) and site.line == line), None)


async def paused_at(client: Live, script: Path, mark: str, timeout: float = PATIENCE) -> PausedThread:
    """The first member of the place at the line that ends in ``# mark``."""
    line = api.line_of(script, mark)
    site = await client.until(lambda: places(client, script, line), timeout)
    member: PausedThread = site.members[0]
    return member


async def attached(client: Live, script: Path, mark: str, *, task: bool = True) -> tuple[Debugged, DebugThread]:
    """Attach to who is paused there; its thread, stopped at that line. ``task``: False for a driver: it runs none."""
    member = await paused_at(client, script, mark)
    session = Debugged(client, member.worker_id)
    await session("attach")
    return session, await session.stopped(at_breakpoint(script, mark), file=script, task=task)


def at_breakpoint(script: Path, mark: str) -> range:
    """Where a thread stands in ``breakpoint()  # mark``: at its line, or, on Python 3.10 and 3.11 when the debugger is
    attached already, at the next one."""
    line = api.line_of(script, mark)
    return range(line, line + 2)


class Debugged:
    """A worker's session."""

    def __init__(self, client: Live, worker_id: str) -> None:
        self.client = client
        self.worker_id = worker_id

    async def __call__(self, command: str, /, **arguments: Any) -> Any:
        return await asyncio.wait_for(self.client.debug(self.worker_id, command, **arguments), PATIENCE)

    @property
    def row(self) -> DebugSession:
        row: DebugSession = self.client.tables["sessions"][self.worker_id]
        return row

    def find(self, holds: Callable[[DebugSession], Any]) -> Any:
        row = self.client.tables["sessions"].get(self.worker_id)
        return row is not None and holds(row)

    async def until(self, holds: Callable[[DebugSession], Any], timeout: float = PATIENCE) -> Any:
        """Wait until ``holds`` is true of the row; what it gave."""
        try:
            return await self.client.until(lambda: self.find(holds), timeout)
        except asyncio.TimeoutError:
            row = self.client.tables["sessions"].get(self.worker_id)
            raise AssertionError(f"waited {timeout:g} s; the session is {row}") from None

    async def stopped(
        self,
        line: int | range | None = None,
        *,
        after: int = 0,
        file: Path | None = None,
        task: bool = True,
        timeout: float = PATIENCE,
    ) -> DebugThread:
        """A thread that is stopped, at ``line``, by a stop newer than number ``after``, and its ``task`` known, as is
        that of each thread but those that the program itself began."""
        lines = range(line, line + 1) if isinstance(line, int) else line

        def there(row: DebugSession) -> DebugThread | None:
            for thread in row.threads:
                if thread.state != "stopped" or thread.stop <= after or (task and thread.task_id is None):
                    continue
                if (lines is None or thread.line in lines) and (file is None or thread.file == str(file)):
                    return thread
            return None

        found: DebugThread = await self.until(there, timeout)
        return found

    async def running(self, thread: DebugThread | None = None) -> None:
        """Wait until the thread, or all of them, runs."""

        def runs(row: DebugSession) -> bool:
            stops = {one.threadId: one.stop for one in row.threads if one.state == "stopped"}
            return not stops if thread is None else stops.get(thread.threadId) != thread.stop

        await self.until(runs)

    @property
    def last_stop(self) -> int:
        return max((thread.stop for thread in self.row.threads), default=0)

    async def go_on(
        self, thread: DebugThread, *, line: int | range | None = None, everybody: bool = False, task: bool = True
    ) -> DebugThread:
        """Continue; the next stop of any thread."""
        before = self.last_stop
        await self("continue", threadId=thread.threadId, all=everybody)
        return await self.stopped(line, after=before, task=task)

    async def step(self, command: str, thread: DebugThread, **more: Any) -> DebugThread:
        """Step, and the stop that follows."""
        before = self.last_stop
        await self(command, threadId=thread.threadId, **more)
        return await self.stopped(after=before)

    async def look(self, thread: DebugThread) -> tuple[int, dict[str, str]]:
        """The frame of the user's line, and its locals by name."""
        seen = await self("look", threadId=thread.threadId)
        assert seen["frame_id"] is not None, seen
        assert seen["variables"] is not None, seen
        return seen["frame_id"], {one["name"]: one["value"] for one in seen["variables"]["variables"]}

    async def value(self, expression: str, frame_id: int | None = None, context: str = "watch") -> str:
        """What an expression gives."""
        where = {} if frame_id is None else {"frameId": frame_id}
        told = await self("evaluate", expression=expression, context=context, **where)
        assert not told.get("waiting"), told
        result: str = told["result"]
        return result

    async def console(self, since: int = 0) -> list[ConsoleEntry]:
        return msgspec.convert((await self("console", since=since))["entries"], list[ConsoleEntry])

    async def says(self, kind: str, text: str, since: int = 0, timeout: float = PATIENCE) -> ConsoleEntry:
        """Wait for a console entry that holds a text."""
        deadline = time.monotonic() + timeout
        while True:
            entries = await self.console(since)
            for entry in entries:
                if entry.kind == kind and text in entry.text:
                    return entry
            end = self.row.console_end
            left = deadline - time.monotonic()
            assert left > 0, f"no {kind} with {text!r} among {entries}"
            with contextlib.suppress(asyncio.TimeoutError):
                await self.client.until(lambda end=end: self.find(lambda row: row.console_end > end), min(left, 1))  # type: ignore[misc]


def audit(cluster: RayCluster) -> list[dict[str, Any]]:
    """The lines of the audit log."""
    path = cluster.session_dir / "raydebug" / "audit.log"
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
