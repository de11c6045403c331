"""All sessions of a hub: who is attached to what, begun, shared, and ended."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from raydebug.api.debug import DebugSession
from raydebug.api.keeper import KeptSession
from raydebug.dap.bodies import clipped
from raydebug.hub.access.audit import AuditLog
from raydebug.hub.access.caller import Caller
from raydebug.hub.debugger import going
from raydebug.hub.debugger.arguments import only_json
from raydebug.hub.debugger.channel import ChannelError, DirectChannel, Listener
from raydebug.hub.debugger.commands import HANDLERS
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.keepers import KeeperChannel, Keepers
from raydebug.hub.debugger.memory import Memory
from raydebug.hub.debugger.rows import row_of
from raydebug.hub.debugger.session import Session
from raydebug.hub.debugger.target import Target

logger = logging.getLogger(__name__)

MOST_SESSIONS: Final = 2048
SHOWN_AFTER_END_S: Final = 300.0
TELL_S: Final = 0.005
HELD_RETRY_S: Final = 2.0
REST_S: Final = 0.3
"""An adapter that is attached to at the moment in which it lets go of the session before is wedged for good."""
ATTACH_S: Final = 30.0
SETTLE_S: Final = 0.5
"""So long what has begun is waited for before a session is left."""
AUDITED_CHARS: Final = 4000
_UNKNOWN: Final = "no worker or driver {!r} is known"
_HELD: Final = "already being debugged"

AUDITED: Final[Mapping[str, tuple[str, ...]]] = {
    "evaluate": ("expression", "context"),
    "setVariable": ("evaluateName", "value"),
    "continue": ("threadId", "all"),
    "next": ("threadId",),
    "stepIn": ("threadId",),
    "stepOut": ("threadId",),
    "pause": ("threadId",),
    "runTo": ("threadId", "path", "line"),
    "goto": ("threadId", "path", "line"),
    "setBreakpoints": ("path", "breakpoints"),
    "setFunctionBreakpoints": ("names",),
    "setExceptionBreakpoints": ("filters", "types"),
}
"""What is written of each command that acts."""


class Broker:
    """``find`` gives whom a worker id means, None if nobody; it may raise LookupError with the reason. ``publish`` is
    given all rows after a change."""

    def __init__(
        self,
        find: Callable[[str], Awaitable[Target | None]],
        keepers: Callable[[Any], Keepers],
        publish: Callable[[dict[str, DebugSession]], None],
        audit: AuditLog,
        lease_s: float,
    ) -> None:
        self._find: Final = find
        self._publish: Final = publish
        self._audit: Final = audit
        self._lease_s: Final = lease_s
        self.keepers: Final = keepers(self._found)
        self.sessions: Final[dict[str, Session]] = {}
        self._attaching: dict[str, asyncio.Task[None]] = {}
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._begun: dict[str, set[asyncio.Future[Any]]] = {}
        self._ended_at: dict[str, float] = {}
        self._left_at: dict[str, float] = {}
        self._stale: set[str] = set()
        self._rows: dict[str, DebugSession] = {}
        self._telling = False

    # What is asked -------------------------------------------------------------------------------------------------

    async def call(self, caller: Caller, worker_id: str, command: str, arguments: dict[str, Any]) -> Any:
        """Carry out a command. Raises LookupError, ValueError or AccessError."""
        session = self.sessions.get(worker_id)
        if session is not None and not _may_see(caller, session.target):
            session = None
        if command == "attach":
            await self._attach(caller, worker_id)
            return {}
        if session is None:
            raise LookupError(f"no session is attached to worker {worker_id[:56]!r}")
        if command == "detach":
            self._note("detach", caller, worker_id)
            await self._detach(session)
            return {}
        only_json(arguments)
        if session.channel is None and command not in ("console", "messages"):
            raise DebugError("not_attached", f"This session is over: {session.note or session.state}.", "Attach again.")
        if worker_id in self._leaving:
            raise DebugError("not_attached", "This session is being detached.")
        if command in AUDITED and not (command == "evaluate" and arguments.get("context") == "hover"):
            self._note(command, caller, worker_id, **{key: _brief(arguments.get(key)) for key in AUDITED[command]})
        # Whoever asked may go away meanwhile: what has begun is done to its end.
        work = asyncio.ensure_future(HANDLERS[command](session, caller.label, arguments))
        begun = self._begun.setdefault(worker_id, set())
        begun.add(work)
        work.add_done_callback(begun.discard)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(_forget)
            raise

    def _note(self, event: str, caller: Caller, worker_id: str, **details: object) -> None:
        self._audit.write(f"debug_{event}", caller, worker_id=worker_id, **details)

    # Attaching -----------------------------------------------------------------------------------------------------

    async def _attach(self, caller: Caller, worker_id: str) -> None:
        session = self.sessions.get(worker_id)
        if session is not None and not _may_see(caller, session.target):
            raise LookupError(_UNKNOWN.format(worker_id[:56]))
        if session is not None and session.channel is not None and session.state != "attaching":
            return
        task = self._attaching.get(worker_id)
        if task is None:
            target = await self._find(worker_id)
            if target is None or not _may_see(caller, target):
                raise LookupError(_UNKNOWN.format(worker_id[:56]))
            if target.port == 0:
                raise DebugError(
                    "not_listening",
                    "No debugger is open in this process: it has never stopped at a breakpoint().",
                    "Ray opens one at the first breakpoint() there, or when a task fails with RAY_DEBUG_POST_MORTEM=1.",
                )
            if sum(one.channel is not None for one in self.sessions.values()) >= MOST_SESSIONS:
                raise DebugError("too_many", f"{MOST_SESSIONS} sessions are attached; detach some.")
            self._note("attach", caller, worker_id)
            session = self._session(target, caller.label)
            self.sessions[worker_id] = session
            session.changed()
            task = self._attaching[worker_id] = asyncio.ensure_future(self._attach_until_done(session))
            task.add_done_callback(lambda _: self._attaching.pop(worker_id, None))
        await asyncio.shield(task)

    async def _attach_until_done(self, session: Session) -> None:
        """Where another client holds the worker, the first try raises, and others follow in the background."""
        try:
            await self._attach_once(session)
        except DebugError as error:
            if error.body.code == "held":
                asyncio.ensure_future(self._retry(session)).add_done_callback(_heed)
            raise

    async def _attach_once(self, session: Session) -> None:
        target = session.target
        await asyncio.sleep(self._left_at.pop(target.worker_id, 0.0) + REST_S - time.monotonic())
        channel: Any
        try:
            try:
                channel, others = await self.keepers.open(
                    target.node_id, target.worker_id, target.host, target.port, session
                )
            except ChannelError as error:
                logger.warning("no keeper for %s, the hub holds its socket: %s", target.worker_id[:8], error)
                channel, others = DirectChannel(session), None
                await channel.open(target.host, target.port)
            try:
                await asyncio.wait_for(session.start(channel), ATTACH_S)
            except BaseException:
                session.channel = None
                channel.close()
                raise
        except (ChannelError, asyncio.TimeoutError) as error:
            raise self._failed(session, str(error) or f"debugpy gave no answer in {ATTACH_S:g} s") from error
        except DebugError as error:
            if _HELD in error.body.message:
                session.held_by = others or "another client"
                self._failed(session, f"{session.held_by} is attached to this worker; trying again")
                raise DebugError("held", session.note or "", "It is tried again until you detach.") from error
            raise self._failed(session, error.body.message) from error

    def _failed(self, session: Session, note: str) -> DebugError:
        session.state, session.note = "failed", note
        self._ended_at[session.target.worker_id] = time.monotonic()
        session.changed()
        return DebugError("failed", note)

    async def _retry(self, session: Session) -> None:
        worker_id = session.target.worker_id
        while self.sessions.get(worker_id) is session and session.state == "failed":
            await asyncio.sleep(HELD_RETRY_S)
            if self.sessions.get(worker_id) is not session:
                return
            session.state = "attaching"
            try:
                await self._attach_once(session)
            except DebugError as error:
                if error.body.code != "held":
                    return

    async def _detach(self, session: Session) -> None:
        """Once, however many ask: a second goodbye in the midst of the first ends debugpy's adapter for good."""
        worker_id = session.target.worker_id
        leaving = self._leaving.get(worker_id)
        if leaving is None:
            leaving = self._leaving[worker_id] = asyncio.ensure_future(self._detach_once(session))
            leaving.add_done_callback(lambda _: self._leaving.pop(worker_id, None))
        await asyncio.shield(leaving)

    async def _detach_once(self, session: Session) -> None:
        worker_id = session.target.worker_id
        if begun := self._begun.pop(worker_id, None):
            await asyncio.wait(begun, timeout=SETTLE_S)  # a step that has just begun, say
        for evaluation in session.evaluations.values() if session.channel is not None else ():
            if evaluation.threadId is not None:
                # debugpy's adapter can't be left before it has answered (raydebug.dap.held).
                text = f"{evaluation.expression[:80]!r} is still evaluated: the session can't be left before that ends."
                raise DebugError("busy", text, "Other threads can go on; detach when it has come back.")
        channel = session.channel
        if channel is not None:
            session.leaving = True
            try:
                await going.leave(session)
            except DebugError as error:
                logger.warning("detaching from %s: %s", worker_id[:8], error)
            session.channel = None
            channel.close()
            self._left_at[worker_id] = time.monotonic()
        self.sessions.pop(worker_id, None)
        self._changed(worker_id)

    def _found(self, node_id: str, kept: KeptSession, channel: KeeperChannel) -> Listener | None:
        """A keeper holds a session of an earlier hub, or held it until it ended while there was no hub."""
        if not kept.note:
            return None
        try:
            memory = msgspec.msgpack.decode(kept.note, type=Memory)
            session = self._session(memory.target, memory.by)
            session.resume(kept, channel)
        except (msgspec.MsgspecError, ValueError) as error:
            logger.warning("the session of %s can't be taken over: %s", kept.session[:8], error)
            return None
        self.sessions[kept.session] = session
        self._audit.write("debug_taken_over", worker_id=kept.session)
        session.changed()
        return session

    def _session(self, target: Target, by: str) -> Session:
        return Session(target, by, functools.partial(self._changed, target.worker_id), self._lease_s)

    # What is told --------------------------------------------------------------------------------------------------

    def _changed(self, worker_id: str) -> None:
        self._stale.add(worker_id)
        if not self._telling:
            self._telling = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        now = time.monotonic()
        for worker_id, session in list(self.sessions.items()):
            if session.state not in ("ended", "failed"):
                self._ended_at.pop(worker_id, None)
            elif now - self._ended_at.setdefault(worker_id, now) > SHOWN_AFTER_END_S:
                del self.sessions[worker_id]
                self._begun.pop(worker_id, None)
        stale, self._stale = self._stale, set()
        for worker_id in stale & self.sessions.keys():
            try:
                self._rows[worker_id] = row_of(self.sessions[worker_id])
            except Exception:  # one session that can't be shown must not hide the others
                logger.exception("the session of %s can't be shown", worker_id[:8])
        self._rows = {worker_id: row for worker_id, row in self._rows.items() if worker_id in self.sessions}
        self._publish(dict(self._rows))
        # A session that prints in a loop must not keep the hub busy with rows.
        asyncio.get_running_loop().call_later(TELL_S, self._told)

    def _told(self) -> None:
        self._telling = False
        if self._stale:
            self._telling = True
            self._tell()

    async def close(self) -> None:
        """The hub ends; what a keeper holds stays as it is."""
        await self.keepers.close()
        for session in self.sessions.values():
            if session.channel is not None and not session.channel.kept:
                session.channel.close()


def _may_see(caller: Caller, target: Target) -> bool:
    return caller.jobs is None or target.job_id in caller.jobs


def _brief(value: Any) -> Any:
    """As much of an argument as the audit log holds."""
    if isinstance(value, str):
        return clipped(value, AUDITED_CHARS)
    text = msgspec.json.encode(value).decode()
    return value if len(text) <= AUDITED_CHARS else clipped(text, AUDITED_CHARS)


def _forget(task: asyncio.Future[Any]) -> None:
    """Nobody waits for it any more."""
    if not task.cancelled():
        task.exception()


def _heed(task: asyncio.Future[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.error("trying again failed: %s", error)
