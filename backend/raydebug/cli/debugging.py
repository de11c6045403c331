"""What the debugger's commands share: the way to the hub, and threads that stand."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final, TypeVar

from raydebug.api.debug import DebugSession, DebugThread
from raydebug.api.errors import ErrorBody
from raydebug.api.health import Health
from raydebug.api.paused import PausedSite

from .client import Client
from .errors import CommandError, NotAllowedError, UnreachableError
from .live import Live, LiveError
from .targets import Chosen, Known

T = TypeVar("T")

STOP_S: Final = 15.0
"""So long a worker that was paused may take to stand again in a session: it was let in from Ray's wait for a client."""
_REST_S: Final = 3.0
_OVER: Final = ("ended", "failed")
_REFUSED: Final = (
    "role_too_low",
    "forbidden",
    "wrong_token",
    "ray_token_needed",
    "session_ended",
    "http_401",
    "http_403",
)
_UNREACHABLE: Final = ("unreachable", "lost", "http_404", "http_502", "http_503", "http_504", "protocol")


def command_error(error: LiveError) -> CommandError:
    """As the commands end."""
    body = error.body
    hint = "" if body.hint.lstrip().startswith("Traceback") else body.hint
    if body.code in _REFUSED or body.code.startswith("grant_"):
        return NotAllowedError(body.message, hint)
    if body.code in _UNREACHABLE:
        return UnreachableError(body.message, hint)
    return CommandError(body.message, hint)


@contextlib.asynccontextmanager
async def debugger(client: Client, news: Callable[[bool], None] | None = None) -> AsyncIterator[Live]:
    """The hub, for somebody who may attach; all tables are there. ``news``: see Live. Raises one of ``cli.errors``."""
    # Says what is wrong where nobody answers, and learns whether Ray asks for its token.
    await asyncio.to_thread(client.get, "health", Health)
    try:
        async with Live(client.url, client.token, client.headers(), news) as live:
            role = live.welcome.role if live.welcome else "anonymous"
            if role != "debugger":
                raise NotAllowedError(
                    f"This needs the role debugger; you are {role}.",
                    "Run it on the head, or give the token that `raydebug url --token-only` prints there: --token, or "
                    "RAYDEBUG_TOKEN.",
                )
            await live.subscribe("topology", "paused", "debug")
            yield live
    except LiveError as error:
        raise command_error(error) from error
    except asyncio.TimeoutError as error:
        raise UnreachableError(f"The hub at {client.url} doesn't answer.") from error


def run(work: Coroutine[Any, Any, T]) -> T:
    """Until it is done; Ctrl-C ends the waiting."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise CommandError("Stopped waiting. What runs in the workers goes on.") from None


def known(live: Live) -> Known:
    return Known.of(live.tables)


def session_of(live: Live, worker_id: str) -> DebugSession | None:
    """The session that is attached, or on its way to it."""
    row: DebugSession | None = live.tables.get("sessions", {}).get(worker_id)
    return None if row is None or row.state in _OVER else row


async def attach(live: Live, worker_id: str) -> DebugSession:
    """The session, attached now if it wasn't. Raises LiveError."""
    before: DebugSession | None = live.tables.get("sessions", {}).get(worker_id)
    if before is None or before.state not in ("stopped", "running"):
        await live.debug(worker_id, "attach")

    def there() -> DebugSession | None:
        row = session_of(live, worker_id)
        return row if row is not None and row.state != "attaching" else None

    found: DebugSession = await _until(live, there, STOP_S, "The session didn't begin.")
    return found


async def standing(live: Live, chosen: Chosen) -> list[DebugThread]:
    """The threads that are meant and stand, the oldest first; attaches if need be. Raises LiveError."""
    if session_of(live, chosen.worker_id) is None and not chosen.paused:
        raise LiveError(ErrorBody("running", "It isn't stopped."))
    await attach(live, chosen.worker_id)
    if not chosen.paused and not stopped(live, chosen):
        raise LiveError(ErrorBody("running", "It isn't stopped."))
    await _until(live, lambda: stopped(live, chosen), STOP_S, "It isn't stopped any more.")
    # Each of its threads comes by itself.
    with contextlib.suppress(LiveError):
        await _until(live, lambda: _count(live, chosen) >= chosen.paused, _REST_S, "")
    return stopped(live, chosen)


def _count(live: Live, chosen: Chosen) -> int:
    row = session_of(live, chosen.worker_id)
    return sum(_stands(thread) for thread in row.threads) if row else 0


def _stands(thread: DebugThread) -> bool:
    """It is stopped, and it is known where."""
    return thread.state == "stopped" and (thread.function is not None or thread.file is not None)


def stopped(live: Live, chosen: Chosen) -> list[DebugThread]:
    """Of the threads that are meant those that stand in a session, the oldest first."""
    row = session_of(live, chosen.worker_id)
    found = [thread for thread in row.threads if _stands(thread)] if row else []
    if chosen.site is not None:
        meant = at_site(live, chosen)
        found = [thread for thread in found if thread.threadId in meant]
    return sorted(found, key=lambda thread: (thread.since_ns or 0, thread.threadId))


def at_site(live: Live, chosen: Chosen) -> set[int]:
    """The session's threads that stand at the place that is meant: the hub says, for attaching may move them a line."""
    site: PausedSite | None = live.tables.get("paused", {}).get(chosen.site or "")
    members = site.members if site is not None else []
    return {one.session_thread_id or 0 for one in members if one.worker_id == chosen.worker_id and one.attached}


async def _until(live: Live, holds: Callable[[], Any], timeout: float, else_say: str) -> Any:
    try:
        return await live.until(holds, timeout)
    except asyncio.TimeoutError as error:
        raise LiveError(ErrorBody("timeout", else_say)) from error


async def user_frame(live: Live, worker_id: str, thread: DebugThread) -> int | None:
    """The innermost frame that is the user's."""
    told = await live.debug(worker_id, "stackTrace", threadId=thread.threadId)
    frames = told["stackFrames"]
    own = [frame for frame in frames if not frame["subtle"]]
    return int((own or frames)[0]["id"]) if frames else None


async def outcome_of(live: Live, worker_id: str, evaluation: int, since: int) -> dict[str, Any]:
    """What became of an evaluation that took longer than the hub waits, as soon as it ends: its console entry."""

    def ended() -> bool:
        row = session_of(live, worker_id)
        return row is None or all(one.evaluation != evaluation for one in row.evaluations)

    await live.until(ended)
    told = await live.debug(worker_id, "console", since=since)
    for entry in told["entries"]:
        if entry.get("evaluation") == evaluation and entry["kind"] in ("result", "error"):
            return dict(entry)
    raise LiveError(ErrorBody("gone", "Its session ended, and its value with it."))


_WHILE: Final = "During handling of the above exception, another exception occurred:\n"


def own_traceback(printed: str, thread: DebugThread | None) -> str:
    """Of an error that was raised by evaluating at an exception: without that exception's own traceback before it."""
    if thread is None or thread.reason != "exception":
        return printed
    return printed.partition(_WHILE)[2].lstrip("\n") or printed


class Clock:
    """Milliseconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def ms(self) -> float:
        return (time.monotonic() - self._began) * 1000
