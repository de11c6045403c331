"""One debugger session: what is known of a worker, and what is said to its debugpy.

Events come in from a channel and become a row that all viewers see; commands (``commands.py``) ask through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import msgspec

from raydebug import probe
from raydebug.api.debug import ConsoleEntry, DapMessage, DebugSession, Evaluation, Frame, SessionState
from raydebug.api.keeper import KeptEvent, KeptSession
from raydebug.hub.debugger.breakpoints import Breakpoints
from raydebug.hub.debugger.channel import Answer, Channel, ChannelError
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.memory import Memory, remember, restore, will
from raydebug.hub.debugger.rings import Ring
from raydebug.hub.debugger.target import Target
from raydebug.hub.debugger.threads import Thread, frame_of, lost_its_traceback

logger = logging.getLogger(__name__)

ANSWER_S: Final = 10.0
"""So long the page waits for what runs in the worker; the worker goes on with it."""
LEVELS: Final = 100
CONSOLE_CHARS: Final = 4 << 20
LOG_CHARS: Final = 2 << 20
LOGGED_CHARS: Final = 4000
OUTPUT_S: Final = 0.02
NOTE_S: Final = 0.05
STEP_S: Final = 0.03

_NODELAY: Final = "__import__('pydevd').get_global_debugger().writer.sock.setsockopt(6, 1, 1)"
"""pydevd sends each answer in two writes on a socket without TCP_NODELAY: 44 ms for each round trip without this."""
_ATTACH: Final[dict[str, Any]] = {
    "name": "raydebug",
    "justMyCode": False,  # else it refuses breakpoints in site-packages, where verl lives
    "subProcess": False,
    "redirectOutput": True,
    "stopAllThreadsOnSuspend": False,
    "steppingResumesAllThreads": False,
}


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
        self.tracing = True
        self.lost_ns: int | None = None
        self.threads: dict[int, Thread] = {}
        self.breakpoints = Breakpoints()
        self.evaluations: dict[int, Evaluation] = {}
        self.last_evaluation = 0
        self.console: Ring[ConsoleEntry] = Ring(CONSOLE_CHARS, lambda entry: len(entry.text) + 100)
        self.log: Ring[DapMessage] = Ring(LOG_CHARS, lambda message: len(message.text) + 100)
        self.owners: dict[int, tuple[int, int]] = {}
        """variablesReference -> thread and its stop: it is valid until that ends."""
        self._stops = 0
        self._seen = 0
        self._orphans = 0
        self._initialized: asyncio.Event = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()
        self._output: list[tuple[str, str]] = []
        self._flushing = False
        self._noting = False

    # Beginning -----------------------------------------------------------------------------------------------------

    async def start(self, channel: Channel) -> None:
        """The handshake. Raises DebugError."""
        self.channel = channel
        told = await self.request(
            "initialize",
            adapterID="debugpy",
            clientID="raydebug",
            clientName="raydebug",
            linesStartAt1=True,
            columnsStartAt1=True,
            pathFormat="path",
            supportsVariableType=True,
        )
        self.capabilities = sorted(name for name, value in told.items() if value is True)
        self.available_filters = list(told.get("exceptionBreakpointFilters") or [])
        attach = asyncio.ensure_future(self.request("attach", **_ATTACH))
        ready = asyncio.ensure_future(self._initialized.wait())
        await asyncio.wait({attach, ready}, return_when=asyncio.FIRST_COMPLETED, timeout=ANSWER_S)
        ready.cancel()
        if not self._initialized.is_set():
            attach.cancel()
            if attach.done() and not attach.cancelled() and (error := attach.exception()):
                raise error
            raise DebugError("failed", f"debugpy didn't get ready in {ANSWER_S:g} s")
        # All at once: each waits for nothing of the one before, and the first makes the others' answers quick.
        asked = [
            self.request("evaluate", expression=_NODELAY),
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
            facts = await self.probe("hello")
            self.python, self.debugpy = facts.get("python"), facts.get("debugpy")
            self.post_mortem = bool(facts.get("post_mortem"))
            self.changed()

    def resume(self, kept: KeptSession, channel: Channel) -> None:
        """Take over from an earlier hub: what it left as a note, then the events since. Raises msgspec.MsgspecError."""
        memory = msgspec.msgpack.decode(kept.note, type=Memory)
        self.channel = channel
        self.state = "running"
        self._stops = memory.stops
        restore(self, memory, any(command == "evaluate" for command, _ in kept.asked))
        for event in kept.events:
            self.event(event)
        self.found(kept.asked)
        for thread in self.threads.values():
            if thread.stopped and not thread.frames:
                self.spawn(self._arrived(thread, thread.stop))
        self.spawn(self._set_again())
        self.say("note", "This hub took the session over from the one before; the worker didn't notice.")

    async def _set_again(self) -> None:
        """debugpy has the breakpoints still; asked again, it says which of them it verified."""
        with contextlib.suppress(DebugError):
            for path in list(self.breakpoints.wanted.lines):
                self.breakpoints.answered(path, await self.request("setBreakpoints", **self.breakpoints.request(path)))
            await self.probe("forget")
        self.changed()

    # Asking --------------------------------------------------------------------------------------------------------

    async def request(self, command: str, **arguments: Any) -> Any:
        """A DAP request; its body. Raises DebugError."""
        if self.channel is None:
            raise DebugError("not_attached", "This session is over.")
        began = time.monotonic()
        self._log(True, "request", command, msgspec.json.encode(arguments))
        try:
            answer = await self.channel.ask(command, arguments)
        except ChannelError as error:
            raise DebugError("lost", str(error)) from error
        self._log_answer(command, answer, (time.monotonic() - began) * 1000)
        if not answer.success:
            raise DebugError("failed", answer.message or f"debugpy refused {command}")
        return answer.get() or {}

    async def evaluate(self, expression: str, frame_id: int | None, context: str) -> str:
        """debugpy's own evaluate; the value's text."""
        body = await self.request(
            "evaluate",
            expression=expression,
            context=context,
            **({} if frame_id is None else {"frameId": frame_id}),
        )
        return str(body.get("result", ""))

    async def probe(self, function: str, thread: Thread | None = None, /, **arguments: Any) -> Any:
        """A function of the probe, on the stopped ``thread``, else on debugpy's own. Raises DebugError."""
        frame_id = None if thread is None else self.place(thread)
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
        return self.unpack(result)

    @staticmethod
    def unpack(result: str) -> Any:
        """The value in a probe's answer. Raises DebugError with the error in it."""
        try:
            answer = msgspec.json.decode(result)
        except msgspec.DecodeError as bad:
            raise DebugError("failed", f"The worker's answer can't be read: {result[:200]!r}") from bad
        if answer.get("ok"):
            return answer.get("value")
        error = answer.get("error") or {}
        text = f"{error.get('type', 'Error')}: {error.get('message', '')}"
        if error.get("type") in ("GoneError", "NoFrameError"):
            raise DebugError("gone", "This value is of an earlier stop.")
        raise DebugError("failed", text, str(error.get("traceback") or ""))

    def place(self, thread: Thread) -> int:
        """The frame in which a stopped thread evaluates. Raises DebugError while it can't."""
        frame_id = thread.native
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
        self._seen = event.number
        self._log(False, "event", event.event, event.body)
        body = msgspec.json.decode(event.body) or {}
        handle = getattr(self, f"_on_{event.event}", None)
        if handle is not None and isinstance(body, dict):
            handle(body, event.at_ns)

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
            self.changed()

    def ended(self, reason: str) -> None:
        if self.channel is None:
            return
        self.channel = None
        if self.state != "failed":
            self.state, self.note = "ended", reason
        self.lost_ns = None
        self.evaluations = {}
        for thread in self.threads.values():
            thread.busy = None
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

    def _on_initialized(self, body: dict[str, Any], at_ns: int) -> None:
        self._initialized.set()

    def _on_stopped(self, body: dict[str, Any], at_ns: int) -> None:
        number = body.get("threadId")
        if not isinstance(number, int):
            return
        thread = self.threads.setdefault(number, Thread(number))
        self._stops += 1
        hit = [one for one in body.get("hitBreakpointIds") or [] if isinstance(one, int)]
        reason = str(body.get("reason", ""))
        called = reason == "breakpoint" and not hit and self.breakpoints.run_to is None
        thread.stops(self._stops, reason, body.get("text"), at_ns, called)
        self.state = "stopped"
        self.breakpoints.hit(hit)
        self.spawn(self._arrived(thread, thread.stop))
        if self.breakpoints.run_to is not None:
            self.spawn(self._run_to_is_over())

    async def _arrived(self, thread: Thread, stop: int) -> None:
        """Learn where a thread stands, then tell."""
        try:
            frames, total = await self.fetch_frames(thread, 0, LEVELS)
            if thread.stop == stop and thread.stopped:
                thread.frames, thread.total_frames = frames, total
                if lost_its_traceback(frames):
                    await self._rebuild(thread)
            if not thread.name:
                await self.learn_names()
        finally:
            self.changed()
        if thread.stop == stop and thread.stopped:
            # The task is exact, also in threaded and async actors, which run many at once.
            facts = await self.probe("where", thread)
            if thread.stop == stop:
                thread.task_id, thread.os_thread_id = facts.get("task_id"), facts.get("os_thread_id")
                self.changed()

    async def _rebuild(self, thread: Thread) -> None:
        """The true stack of a post-mortem, from the exception's traceback."""
        rebuilt = await self.probe("exception", thread)
        if rebuilt and rebuilt["frames"]:
            frames = [msgspec.convert(one, Frame) for one in rebuilt["frames"]]
            thread.frames = frames + [msgspec.structs.replace(one, subtle=True) for one in thread.frames]
            thread.text = rebuilt.get("type") or thread.text
            thread.total_frames = len(thread.frames)
            thread.rebuilt = True

    async def fetch_frames(self, thread: Thread, start: int, levels: int) -> tuple[list[Frame], int]:
        body = await self.request("stackTrace", threadId=thread.id, startFrame=start, levels=levels)
        frames = [frame_of(raw) for raw in body.get("stackFrames") or []]
        return frames, int(body.get("totalFrames") or len(frames))

    async def learn_names(self) -> None:
        for raw in (await self.request("threads")).get("threads") or []:
            self.threads.setdefault(raw["id"], Thread(raw["id"])).name = str(raw.get("name", ""))

    async def _run_to_is_over(self) -> None:
        path = self.breakpoints.run_to[0] if self.breakpoints.run_to else None
        self.breakpoints.run_to = None
        if path is not None:
            self.breakpoints.answered(path, await self.request("setBreakpoints", **self.breakpoints.request(path)))
            self.changed()

    def _on_continued(self, body: dict[str, Any], at_ns: int) -> None:
        every = body.get("allThreadsContinued") is True
        for thread in self.threads.values():
            if every or thread.id == body.get("threadId"):
                self._resumed(thread)
        # A step is over in 3 ms: told at once, its way there would only delay where it leads.
        asyncio.get_running_loop().call_later(STEP_S, self.changed)

    def _resumed(self, thread: Thread) -> None:
        thread.resumes()
        self.owners = {ref: owner for ref, owner in self.owners.items() if owner[0] != thread.id}
        if self.state == "stopped" and not any(one.stopped for one in self.threads.values()):
            self.state = "running"

    def _on_thread(self, body: dict[str, Any], at_ns: int) -> None:
        number = body.get("threadId")
        if not isinstance(number, int):
            return
        if body.get("reason") == "exited":
            gone = self.threads.pop(number, None)
            if gone is not None and gone.stopped:
                self._resumed(gone)
            self.changed()
        elif number not in self.threads:
            self.threads[number] = Thread(number)
            self.spawn(self._name_soon())

    async def _name_soon(self) -> None:
        await asyncio.sleep(0.2)
        if any(not thread.name for thread in self.threads.values()):
            await self.learn_names()
            self.changed()

    def _on_output(self, body: dict[str, Any], at_ns: int) -> None:
        category, text = str(body.get("category") or "console"), body.get("output")
        if category == "telemetry" or not isinstance(text, str):
            return
        kind = category if category in ("stdout", "stderr") else "log"
        if self._output and self._output[-1][0] == kind and len(self._output[-1][1]) < 8192:
            self._output[-1] = (kind, self._output[-1][1] + text)
        else:
            self._output.append((kind, text))
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_later(OUTPUT_S, self.flush_output)

    def flush_output(self) -> None:
        self._flushing = False
        parts, self._output = self._output, []
        for kind, text in parts:
            if text.strip("\n"):
                self.say(kind, text)

    # What is told --------------------------------------------------------------------------------------------------

    def say(self, kind: str, text: str, **more: Any) -> ConsoleEntry:
        """Put an entry into the console."""
        entry = self.console.add(
            lambda number: ConsoleEntry(number=number, at_ns=time.time_ns(), kind=kind, text=text, **more)  # type: ignore[arg-type]
        )
        self.changed()
        return entry

    def _log(
        self, sent: bool, kind: Any, command: str, text: bytes, took: float | None = None, ok: bool = True
    ) -> None:
        shown = text[:LOGGED_CHARS].decode(errors="replace")
        if len(text) > LOGGED_CHARS:
            shown += f" … ({len(text) - LOGGED_CHARS} more bytes)"
        self.log.add(
            lambda number: DapMessage(
                number=number,
                at_ns=time.time_ns(),
                sent=sent,
                kind=kind,
                command=command,
                text=shown,
                took_ms=took,
                success=ok,
            )
        )

    def _log_answer(self, command: str, answer: Answer, took: float) -> None:
        text = answer.body if answer.success else msgspec.json.encode(answer.message)
        self._log(False, "response", command, text, took, answer.success)

    def changed(self) -> None:
        self._changed()
        if not self._noting and self.channel is not None and self.channel.kept and self.capabilities:
            self._noting = True
            asyncio.get_running_loop().call_later(NOTE_S, self._leave_note)

    def _leave_note(self) -> None:
        self._noting = False
        if self.channel is None:
            return
        note = msgspec.msgpack.encode(remember(self, self._stops))
        self.channel.note(note, self._seen, self._lease_s, will(self))

    def row(self) -> DebugSession:
        target = self.target
        return DebugSession(
            worker_id=target.worker_id,
            worker_type=target.worker_type,
            job_id=target.job_id,
            actor_id=target.actor_id,
            node_id=target.node_id,
            pid=target.pid,
            group=target.group,
            rank=target.rank,
            state=self.state,
            note=self.note,
            held_by=self.held_by,
            keeper=self.channel.kept if self.channel is not None else True,
            python=self.python,
            debugpy=self.debugpy,
            attached_ns=self.attached_ns,
            attached_by=self.by,
            post_mortem=self.post_mortem,
            tracing=self.tracing,
            lost_ns=self.lost_ns,
            threads=[thread.row() for _, thread in sorted(self.threads.items())],
            breakpoints=self.breakpoints.rows(),
            functions=self.breakpoints.wanted.functions,
            filters=self.breakpoints.wanted.filters,
            types=self.breakpoints.wanted.types,
            available_filters=self.available_filters,
            evaluations=list(self.evaluations.values()),
            console_end=self.console.end,
            messages_end=self.log.end,
            capabilities=self.capabilities,
        )
