"""One debugger session: what is known of a worker, and what is said to its debugpy.

Events come in from a channel and become a row that all viewers see; commands (``commands.py``) ask through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

import msgspec

from raydebug import probe
from raydebug.api.debug import ConsoleEntry, Evaluation, Frame, SessionState
from raydebug.api.keeper import KeptEvent, KeptSession
from raydebug.dap import bodies
from raydebug.dap.bodies import BodyError, clipped, read
from raydebug.hub.debugger import arriving, lines, tracing
from raydebug.hub.debugger.answers import WENT_ON, Hello, as_told, unpack
from raydebug.hub.debugger.attaching import ATTACH, INITIALIZE, NODELAY
from raydebug.hub.debugger.breakpoints import Breakpoints
from raydebug.hub.debugger.channel import Answer, Channel, ChannelError
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.memory import Memory, remember, restore, will
from raydebug.hub.debugger.messages import MessageLog
from raydebug.hub.debugger.output import Output
from raydebug.hub.debugger.rings import Ring
from raydebug.hub.debugger.target import Target
from raydebug.hub.debugger.threads import Thread, frame_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

ANSWER_S: Final = 10.0
"""So long the page waits for what runs in the worker; the worker goes on with it."""
CONSOLE_CHARS: Final = 4 << 20
CONSOLE_ENTRY_CHARS: Final = 1 << 20
NOTE_S: Final = 0.05
NOTE_BYTES: Final = 4 << 20
NOTE_BYTES_S: Final = 2 << 20
"""What notes may cost: they pass through Ray's agent."""
SETTLED_S: Final = 2.0
BY_AND_BY_S: Final = 0.3
STEP_S: Final = 0.03
MOST_THREADS: Final = 2048
PATIENT: Final = frozenset({"attach", "evaluate"})
"""What runs code, or waits for what does, is waited for; anything else debugpy answers soon or never."""
_GONE: Final = frozenset({"Unable to find thread for evaluation."})
"""What debugpy says of a frame whose thread has gone on."""


class Session:
    """``changed`` is called after any change of its row."""

    def __init__(self, target: Target, by: str, changed: Callable[[], None], lease_s: float) -> None:
        self.target: Final = target
        self.by = by
        self._changed: Final = changed
        self._lease_s: Final = lease_s
        self.state: SessionState = "attaching"
        self.note: str | None = None
        self.held_by: str | None = None
        self.channel: Channel | None = None
        self.attached_ns = time.time_ns()
        self.capabilities: list[str] = []
        self.available_filters: list[dict[str, Any]] = []
        self.python: str | None = None
        self.debugpy: str | None = None
        self.post_mortem = False
        self.tracing = False
        self.armed = False
        """Whether every thread is known to be traced, so that what is set hits. One that was freed is deaf."""
        self.pausing = False
        """Somebody has asked for a stop that hasn't come."""
        self.lost_ns: int | None = None
        self.threads: dict[int, Thread] = {}
        self.breakpoints = Breakpoints()
        self.evaluations: dict[int, Evaluation] = {}
        self.last_evaluation = 0
        self.console: Ring[ConsoleEntry] = Ring(CONSOLE_CHARS, lambda entry: len(entry.text) + 100)
        self.log: Final = MessageLog()
        self.owners: dict[int, tuple[int, int]] = {}
        """variablesReference -> thread and its stop: it is valid until that ends."""
        self._stops = 0
        self._seen = 0
        self._orphans = 0
        self.leaving = False
        self._noted = 0
        self._odd = self._naming = self._going = self._by_and_by = False
        self._initialized: asyncio.Event = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()
        self._output: Final = Output(self.say)
        self._noting = False

    # Beginning -----------------------------------------------------------------------------------------------------

    async def start(self, channel: Channel) -> None:
        """The handshake. Raises DebugError."""
        self.channel = channel
        answer = await self._ask("initialize", **INITIALIZE)
        self.capabilities = bodies.names_that_are_true(self._read(dict[str, Any], "initialize", answer))
        filters = self._read(bodies.Capabilities, "initialize", answer).exception_breakpoint_filters
        self.available_filters = [msgspec.to_builtins(one) for one in filters[:20]]
        attach = asyncio.ensure_future(self.request("attach", **ATTACH))
        ready = asyncio.ensure_future(self._initialized.wait())
        await asyncio.wait({attach, ready}, return_when=asyncio.FIRST_COMPLETED, timeout=ANSWER_S)
        if attach.done():
            attach.result()  # refused
            await asyncio.wait({ready}, timeout=ANSWER_S)
        ready.cancel()
        if not self._initialized.is_set():
            attach.cancel()
            raise DebugError("failed", f"debugpy didn't get ready in {ANSWER_S:g} s")
        self.held_by = self.note = None  # by nobody else any more
        # All at once: each waits for nothing of the one before, and the first makes the others' answers quick.
        asked = [
            self.request("evaluate", expression=NODELAY),
            self.request("setExceptionBreakpoints", **self.breakpoints.exception_request()),
            self.request("configurationDone"),
            self.request("evaluate", expression=probe.bootstrap()),
        ]
        outcomes = await asyncio.gather(*map(asyncio.ensure_future, asked), return_exceptions=True)
        if isinstance(failed := outcomes[2], BaseException):
            raise failed
        await attach
        if self.state == "attaching":
            self.state = "running"
        self.spawn(self._learn_versions())
        self.changed()

    async def _learn_versions(self) -> None:
        with contextlib.suppress(DebugError):
            facts = as_told(Hello, await self.probe("hello"))
            self.python, self.debugpy, self.post_mortem = facts.python, facts.debugpy, facts.post_mortem
            self.tracing = self.tracing or bool(facts.tracing)
            self.changed()
            # Attaching has traced a worker that ran. One that waited in breakpoint() comes to its stop first.
            await asyncio.sleep(SETTLED_S)
            await tracing.free_if_idle(self)

    def resume(self, kept: KeptSession, channel: Channel) -> None:
        """Take over from an earlier hub: what it left as a note, then the events since. Raises msgspec.MsgspecError."""
        memory = msgspec.msgpack.decode(kept.note, type=Memory)
        self.channel = channel
        self._stops, self._seen = memory.stops, memory.seen
        restore(self, memory, any(command == "evaluate" for command, _ in kept.asked))
        self.state = "stopped" if any(thread.stopped for thread in self.threads.values()) else "running"
        self.leaving = kept.ended is not None  # then it is known why, and its last events don't tell
        for event in kept.events:
            self.event(event)
        self.leaving = False
        if kept.ended is not None or self.channel is None:
            return
        self.found(kept.asked)
        if kept.freed:
            self.tracing = self.armed = False
        for thread in self.threads.values():
            if thread.stopped and not thread.frames:
                self._arrive(thread)
        self.spawn(lines.set_again(self))
        self.say("note", "This hub took the session over from the one before; the worker didn't notice.")

    # Asking --------------------------------------------------------------------------------------------------------

    async def request(self, command: str, **arguments: Any) -> None:
        """A DAP request. Raises DebugError."""
        await self._ask(command, **arguments)

    async def told(self, kind: type[T], command: str, **arguments: Any) -> T:
        """A DAP request; its body. Raises DebugError."""
        return self._read(kind, command, await self._ask(command, **arguments))

    async def _ask(self, command: str, **arguments: Any) -> Answer:
        if self.channel is None:
            raise DebugError("not_attached", "This session is over.")
        began = time.monotonic()
        self.log.note(True, "request", command, msgspec.json.encode(arguments))
        try:
            asking = self.channel.ask(command, arguments)
            answer = await asyncio.wait_for(asking, None if command in PATIENT else ANSWER_S)
        except ChannelError as error:
            raise DebugError("lost", str(error)) from error
        except asyncio.TimeoutError:
            raise DebugError("busy", f"debugpy didn't answer {command} in {ANSWER_S:g} s.") from None
        text = answer.body if answer.success else msgspec.json.encode(answer.message)
        self.log.note(False, "response", command, text, (time.monotonic() - began) * 1000, answer.success)
        if not answer.success:
            if command == "evaluate" and answer.message in _GONE:
                raise DebugError("gone", WENT_ON)
            raise DebugError("failed", clipped(answer.message or f"debugpy refused {command}", 2000))
        return answer

    @staticmethod
    def _read(kind: type[T], command: str, answer: Answer) -> T:
        try:
            return read(kind, answer.body if answer.body not in (b"", b"null") else b"{}")
        except BodyError as error:
            raise DebugError("failed", f"debugpy's answer to {command} can't be read: {error}") from error

    async def evaluate(self, expression: str, frame_id: int | None, context: str) -> str:
        """debugpy's own evaluate; the value's text."""
        more = {} if frame_id is None else {"frameId": frame_id}
        told = await self.told(bodies.Evaluation, "evaluate", expression=expression, context=context, **more)
        return told.result

    async def probe(self, function: str, thread: Thread | int | None = None, /, **arguments: Any) -> Any:
        """A function of the probe, on the stopped ``thread`` (an int: in this frame of it), else on debugpy's own.
        Raises DebugError."""
        frame_id = self.place(thread) if isinstance(thread, Thread) else thread
        work = asyncio.ensure_future(self._probe(function, frame_id, arguments))
        try:
            return await asyncio.wait_for(asyncio.shield(work), ANSWER_S)
        except asyncio.TimeoutError:
            work.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise DebugError("busy", f"The worker didn't answer in {ANSWER_S:g} s; it is still at it.") from None

    async def _probe(self, function: str, frame_id: int | None, arguments: dict[str, Any]) -> Any:
        text = probe.call(function, **arguments)
        result = await self.evaluate(text, frame_id, "clipboard")
        if "NotInstalledError" in result[:100]:
            await self.evaluate(probe.bootstrap(), None, "clipboard")
            result = await self.evaluate(text, frame_id, "clipboard")
        return unpack(result)

    def place(self, thread: Thread) -> int:
        """The frame in which a stopped thread evaluates. Raises DebugError while it can't."""
        frame_id = thread.native
        if thread.stopped and thread.leaving:
            raise DebugError("running", f"{thread.name or 'The thread'} has just been told to go on.")
        if not thread.stopped or frame_id is None:
            raise DebugError("running", f"{thread.name or 'The thread'} isn't stopped.")
        if thread.busy is not None and (running := self.evaluations.get(thread.busy)):
            seconds = (time.time_ns() - running.since_ns) / 1e9
            if seconds > 1:
                raise DebugError("busy", f"{thread.name} still evaluates {running.expression[:80]!r}, {seconds:.0f} s.")
        return frame_id

    def thread(self, number: object) -> Thread:
        """Raises DebugError if there is none."""
        thread = self.threads.get(number) if isinstance(number, int) else None
        if thread is None:
            raise DebugError("gone", f"There is no thread {number!r} in this session.")
        return thread

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except DebugError as error:
                logger.debug("session of %s: %s", self.target.worker_id[:8], error)
            except Exception:
                logger.exception("the session of %s failed on something", self.target.worker_id[:8])

        task = asyncio.ensure_future(guarded())
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    # What comes by itself (channel.Listener) -----------------------------------------------------------------------

    def event(self, event: KeptEvent) -> None:
        if event.number <= self._seen:
            return
        self._output.missed(event.number - self._seen - 1)
        self._seen = event.number
        self.log.note(False, "event", event.event, event.body)
        kind, handle = _EVENTS.get(event.event, (None, None))
        if kind is None or handle is None:
            return
        try:
            handle(self, read(kind, event.body), event.at_ns)
        except BodyError as error:
            if not self._odd:
                self._odd = True
                self.say("note", f"debugpy said what can't be read, which is passed over: {event.event}: {error}")
        except Exception:  # it must not end the connection, which others' sessions share
            logger.exception("the session of %s failed on %s", self.target.worker_id[:8], event.event)

    def orphan(self, command: str) -> None:
        if command != "evaluate" or not self._orphans:
            return
        self._orphans -= 1
        if self._orphans == 0:
            for thread in self.threads.values():
                thread.busy = None
            for evaluation in self.evaluations.values():
                self.say("note", f"{evaluation.expression[:200]} has ended; its value went to the hub before.")
            self.evaluations = {}
            for thread in self.threads.values():
                if thread.stopped:
                    self._arrive(thread)  # while it evaluated it couldn't be asked all
            self.changed()

    def ended(self, reason: str) -> None:
        if self.channel is None:
            return
        self.channel = None
        if self.leaving:
            return  # as it was told to
        if self.state != "failed":
            self.state, self.note = "ended", reason
        self.lost_ns = None
        self.evaluations = {}
        for thread in self.threads.values():
            thread.busy = None
            if thread.stopped:
                thread.resumes()  # it went on with the connection, or there is no such thread any more
        self.tracing = self.armed = False
        self._initialized.set()
        self.say("note", f"The session is over: {reason}.")
        self.changed()

    def lost(self, note: str) -> None:
        self.lost_ns, self.note = time.time_ns(), note
        self.changed()

    def found(self, asked: Sequence[tuple[str, int]]) -> None:
        self.lost_ns, self.note = None, None
        self._orphans = sum(command == "evaluate" for command, _ in asked)
        self.changed()

    def _on_initialized(self, body: Any, at_ns: int) -> None:
        self._initialized.set()

    def _on_terminated(self, body: Any, at_ns: int) -> None:
        """The process has ended. debugpy's adapter outlives it, and would keep the connection."""
        if self.channel is not None and not self.leaving:
            channel = self.channel
            self.ended("the process has ended")
            channel.close()

    def _on_stopped(self, body: bodies.Stopped, at_ns: int) -> None:
        thread = self._known(body.thread_id)
        if thread is None:
            return
        self._stops += 1
        hit = body.hit_breakpoint_ids
        called = body.reason == "breakpoint" and not hit and self.breakpoints.run_to is None
        text = None if body.text is None else clipped(body.text.partition(" (note:")[0])  # pydevd's advice
        thread.stops(self._stops, clipped(body.reason), text, at_ns, called)
        self.state = "stopped"
        self.tracing, self.pausing = True, False
        self.armed = self.armed or called  # breakpoint() turns it on, in all threads
        self.breakpoints.hit(hit)
        self._arrive(thread)
        if self.breakpoints.run_to is not None:
            self.spawn(self._run_to_is_over())

    def _known(self, number: int) -> Thread | None:
        """A thread that debugpy tells of; None if it tells of more than there can be."""
        if number not in self.threads and len(self.threads) >= MOST_THREADS:
            return None
        return self.threads.setdefault(number, Thread(number))

    def _arrive(self, thread: Thread) -> None:
        if not thread.arriving:
            thread.arriving = True
            self.spawn(arriving.arrived(self, thread))

    async def fetch_frames(self, thread: Thread, start: int, levels: int) -> tuple[list[Frame], int]:
        told = await self.told(bodies.StackTrace, "stackTrace", threadId=thread.id, startFrame=start, levels=levels)
        frames = [frame_of(raw) for raw in told.stack_frames[:levels]]
        return frames, told.total_frames or len(frames)

    async def learn_names(self) -> None:
        for one in (await self.told(bodies.Threads, "threads")).threads:
            if (thread := self._known(one.id)) is not None:
                thread.name = clipped(one.name)

    async def _run_to_is_over(self) -> None:
        path = self.breakpoints.run_to[0] if self.breakpoints.run_to else None
        self.breakpoints.run_to = None
        if path is not None:
            await lines.set_lines(self, path)
            self.changed()

    def _on_continued(self, body: bodies.Continued, at_ns: int) -> None:
        one = self.threads.get(body.thread_id) if body.thread_id is not None else None
        for thread in self.threads.values() if body.all_threads_continued else [one]:
            if thread is not None and thread.stopped:
                self._resumed(thread)
        # A step is over in 3 ms: told at once, its way there would only delay where it leads.
        if not self._going:
            self._going = True
            asyncio.get_running_loop().call_later(STEP_S, self._gone_on)

    def _gone_on(self) -> None:
        self._going = False
        self.changed()

    def _resumed(self, thread: Thread) -> None:
        thread.resumes()
        self.owners = {ref: owner for ref, owner in self.owners.items() if owner[0] != thread.id}
        if self.state == "stopped" and not any(one.stopped for one in self.threads.values()):
            self.state = "running"

    def _on_thread(self, body: bodies.ThreadChanged, at_ns: int) -> None:
        if body.reason == "exited":
            gone = self.threads.pop(body.thread_id, None)
            if gone is not None and gone.stopped:
                self._resumed(gone)
            self.changed()
        elif body.thread_id not in self.threads and self._known(body.thread_id) and not self._naming:
            self._naming = True
            self.spawn(self._name_soon())

    async def _name_soon(self) -> None:
        await asyncio.sleep(0.2)
        self._naming = False
        if any(not thread.name for thread in self.threads.values()):
            await self.learn_names()
            self.changed()

    def _on_output(self, body: bodies.Output, at_ns: int) -> None:
        if (logged := self.breakpoints.logged(body.output)) is not None:
            self._output.add("log", logged)
        elif body.category != "telemetry":
            self._output.add(body.category or "console", body.output)

    def flush_output(self) -> None:
        self._output.flush()

    # What is told --------------------------------------------------------------------------------------------------

    def say(self, kind: str, text: str, **more: Any) -> ConsoleEntry:
        """Put an entry into the console."""
        shown = clipped(text, CONSOLE_ENTRY_CHARS)
        entry = self.console.add(
            lambda number: ConsoleEntry(number=number, at_ns=time.time_ns(), kind=kind, text=shown, **more)  # type: ignore[arg-type]
        )
        self.changed()
        return entry

    def changed_by_and_by(self) -> None:
        """Of what may wait a moment: that there are new messages."""
        if not self._by_and_by:
            self._by_and_by = True
            asyncio.get_running_loop().call_later(BY_AND_BY_S, self.changed)

    def changed(self) -> None:
        self._by_and_by = False
        self._changed()
        if not self._noting and self.channel is not None and self.channel.kept and self.capabilities:
            self._noting = True
            asyncio.get_running_loop().call_later(NOTE_S + self._noted / NOTE_BYTES_S, self._leave_note)

    def _leave_note(self) -> None:
        self._noting = False
        self.keep()

    def keep(self) -> None:
        """Leave with the keeper what the next hub must know, now: what somebody was told is set."""
        if self.channel is None or not self.channel.kept:
            return
        memory = remember(self, self._stops, self._seen)
        note = msgspec.msgpack.encode(memory)
        if len(note) > NOTE_BYTES:
            note = msgspec.msgpack.encode(msgspec.structs.replace(memory, console=[]))
        self._noted = len(note)
        self.channel.note(note, self._seen, self._lease_s, will(self))


_EVENTS: Final[dict[str, tuple[Any, Callable[[Session, Any, int], None]]]] = {
    "initialized": (Any, Session._on_initialized),
    "terminated": (Any, Session._on_terminated),
    "stopped": (bodies.Stopped, Session._on_stopped),
    "continued": (bodies.Continued, Session._on_continued),
    "thread": (bodies.ThreadChanged, Session._on_thread),
    "output": (bodies.Output, Session._on_output),
}
"""How the body of each is read, and what it means. Others are only logged."""
