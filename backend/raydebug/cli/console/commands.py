"""What the lines of the console do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from raydebug.api.debug import DebugThread
from raydebug.api.errors import ErrorBody
from raydebug.cli.debugging import own_traceback
from raydebug.cli.live import Live, LiveError
from raydebug.cli.screen import data

from . import text
from .paper import Paper
from .parse import COMMANDS, LETTERS, UsageError, assignment, number, parse
from .pieces import Pieces
from .points import Points
from .worker import Worker, is_there

_RUNS: Final = "It runs. :pause stops it, :wait waits for its next stop, :live EXPR evaluates beside it."
_NEEDS_STOP: Final = "This needs a stopped thread, and it runs."
_LEVELS: Final = 1000
"""Frames that the hub gives in one answer."""


class Leave(Exception):  # noqa: N818 (no error)
    """The console ends."""


class Console:
    """``patience``: seconds that a script waits for a stop where a command needs one; None: somebody types, who can
    wait and press Ctrl-C."""

    def __init__(self, live: Live, worker_id: str, paper: Paper, patience: float | None, over: Callable[[], None]):
        self.paper: Final = paper
        self.failed = False
        self.left = False
        """By an order of the user's."""
        self._patience: Final = patience
        self._wake: Final = over
        self._pieces: Final = Pieces(self._output)
        self.worker: Final = Worker(live, worker_id, self._pieces.add, self._arrived, self._ended, self._again)
        self._points: Final = Points(self.worker)
        self._selected: int | None = None
        self._frames: list[dict[str, Any]] = []
        self._total = 0
        self._at = 0
        self._names: frozenset[str] = frozenset()
        self._gave_up = False
        self._late: set[asyncio.Task[None]] = set()
        self._do: Final[dict[str, Callable[[str], Awaitable[None]]]] = {
            "next": lambda rest: self._step("next"),
            "step": lambda rest: self._step("stepIn"),
            "out": lambda rest: self._step("stepOut"),
            "continue": self._continue,
            "until": lambda rest: self._to_line("runTo", rest),
            "goto": lambda rest: self._to_line("goto", rest),
            "pause": self._pause,
            "wait": self._wait,
            "list": self._list,
            "stack": self._stack,
            "up": lambda rest: self._to_frame(self._at + 1),
            "down": lambda rest: self._to_frame(self._at - 1),
            "frame": lambda rest: self._to_frame(number(rest, "the number of a frame, as :stack shows it")),
            "locals": self._locals,
            "p": self._print,
            "evaluate": lambda rest: self._evaluate(rest, False),
            "live": self._beside,
            "set": self._set,
            "break": self._break,
            "breaks": self._breaks,
            "clear": self._clear,
            "threads": self._threads,
            "thread": self._to_thread,
            "tasks": self._tasks,
            "detach": self._detach,
            "quit": self._quit,
            "help": self._help,
        }

    # The outside ---------------------------------------------------------------------------------------------------

    async def begin(self, meant: set[int]) -> None:
        """``meant``: the threads of which one is to be selected; empty: any."""
        await self.worker.begin()
        other = next((one for one in self.worker.threads if one.threadId in meant and is_there(one)), None)
        if other is not None and self._selected not in meant:
            await self._select(other, True)
        if self._selected is None and self.worker.ended is None:
            self.paper.put(_RUNS)

    async def close(self) -> None:
        """Nothing more is told."""
        if self.worker.following is not None:
            self.worker.following.cancel()
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)

    async def handle(self, line: str) -> None:
        """Carry out a line, and say what comes of it. Raises Leave."""
        try:
            order = parse(line, self._names)
            if order.name:
                await self._do[order.name](order.rest)
        except UsageError as error:
            self._fail([data(str(error), "red")])
        except LiveError as error:
            hint = error.body.hint
            if "\n" in hint.strip():
                await self._drained()
                printed = own_traceback(hint, self.worker.thread(self._selected))
                self._fail(text.error_lines(error.body.message, printed))
            else:
                self._fail([data(f"{error.body.message} {hint}".strip(), "red")])
        if self.worker.ended is not None:
            raise Leave

    async def complete(self, line: str, word: str) -> list[str]:
        if line.lstrip().startswith(":") and " " not in line.lstrip():
            return [f":{name} " for name in COMMANDS if f":{name}".startswith(word)]
        thread = self.worker.thread(self._selected)
        frame = {"frameId": self._frame["id"]} if thread is not None and is_there(thread) and self._frames else {}
        told = await self.worker.ask("completions", text=line, column=len(line) + 1, **frame)
        before, dot, last = word.rpartition(".")
        labels = dict.fromkeys(str(target.get("text") or target.get("label") or "") for target in told["targets"])
        return [f"{before}{dot}{label}" for label in labels if label.startswith(last)]

    def _fail(self, lines: list[Any]) -> None:
        self.failed = True
        self._pieces.end()
        self.paper.put_all(lines)

    # What comes by itself ------------------------------------------------------------------------------------------

    def _output(self, kind: str, whole_lines: str) -> None:
        self.paper.put_all(text.output_lines(kind, whole_lines))

    async def _arrived(self, thread: DebugThread) -> None:
        """A new stop: it becomes the selected one, unless that stands itself."""
        current = self.worker.thread(self._selected)
        several = sum(is_there(one) for one in self.worker.threads) > 1
        self._pieces.end()
        if current is not None and current.threadId != thread.threadId and is_there(current) and self._frames:
            self.paper.put(text.stop_line(thread, True))
            return
        await self._select(thread, several)

    def _ended(self, why: str) -> None:
        self._pieces.end()
        self.paper.put(data(f"The session is over: {why}", "bold yellow"))
        self._wake()

    async def _again(self) -> None:
        """Another hub, which may call the frames of the same stop otherwise."""
        thread = self.worker.thread(self._selected)
        if thread is None:
            return
        if not is_there(thread):
            self._frames, self._names = [], frozenset()
            return
        look = await self.worker.ask("look", threadId=thread.threadId)
        self._frames, self._total = look["frames"], look["total_frames"]
        await self._reach(thread, self._at + 1)
        self._at = min(self._at, max(0, len(self._frames) - 1))

    # The selected frame --------------------------------------------------------------------------------------------

    async def _select(self, thread: DebugThread, several: bool) -> None:
        """Where it stands, with source around."""
        self._selected = thread.threadId
        self._frames, self._names, self._gave_up = [], frozenset(), False
        self.paper.put(text.stop_line(thread, several))
        try:
            look = await self.worker.ask("look", threadId=thread.threadId)
        except LiveError as error:
            if error.body.code not in ("running", "gone", "lost", "away"):
                self.paper.put(data(error.body.message, "red"))
            return
        if look.get("exception"):
            self.paper.put(text.exception_line(look["exception"]))
        self._frames, self._total = look["frames"], look["total_frames"]
        self._points.know(frame["path"] for frame in self._frames if frame["path"])
        ids = [frame["id"] for frame in self._frames]
        self._at = ids.index(look["frame_id"]) if look["frame_id"] in ids else 0
        self._learn(look)
        await self._show_source(text.AROUND_STOP)

    def _learn(self, look: dict[str, Any]) -> None:
        variables = (look.get("variables") or {}).get("variables") or []
        self._names = frozenset(one["name"] for one in variables)

    @property
    def _frame(self) -> dict[str, Any]:
        return self._frames[self._at]

    async def _standing(self) -> DebugThread:
        """The selected thread, which stands; a script waits for that. Raises LiveError."""
        # Once a script has waited in vain, its other lines needn't.
        deadline = time.monotonic() + (0 if self._gave_up else self._patience or 0)
        while True:
            thread = self.worker.thread(self._selected)
            if thread is not None and is_there(thread) and self._frames:
                return thread
            other = next((one for one in self.worker.threads if is_there(one)), None)
            left = deadline - time.monotonic()
            if other is not None and self._patience is None:
                raise LiveError(ErrorBody("running", f"This thread runs; :thread {other.threadId} is stopped."))
            if left <= 0 or not await self.worker.next_stop(self.worker.last_stop(), left):
                self._gave_up = True
                raise LiveError(ErrorBody("running", self.worker.ended or _NEEDS_STOP))

    async def _show_source(self, around: int, line: int | None = None) -> None:
        frame = self._frame
        if not frame["path"]:
            self.paper.put(data(f"{frame['name']} has no source"))
            return
        try:
            source = await self.worker.source(frame["path"])
        except LiveError as error:
            self.paper.put(data(error.body.message, "dim"))
            return
        breaks = {one.line for one in self._points.of(frame["path"])}
        middle = line or frame["line"]
        self.paper.put_all(text.source_lines(source.text, middle, around, frame["line"], breaks, self.paper.utf8))
        if source.changed:
            self.paper.put(data("The file was changed after this process read it.", "yellow"))

    async def _list(self, rest: str) -> None:
        await self._standing()
        await self._show_source(text.AROUND_LIST, number(rest, "a line's number") if rest else None)

    async def _stack(self, rest: str) -> None:
        most = number(rest, "how many frames") if rest else text.MOST_STACK
        thread = await self._standing()
        await self._reach(thread, most)
        self.paper.put_all(text.stack_lines(self._frames, self._at, self._total, most))

    async def _reach(self, thread: DebugThread, count: int) -> None:
        """Fetch frames until ``count`` are known, or all: a stop brings the innermost alone. Raises LiveError."""
        frames = self._frames
        count = min(count, self._total)
        while (known := len(frames)) < count:
            levels = min(count - known, _LEVELS)
            told = await self.worker.ask("stackTrace", threadId=thread.threadId, startFrame=known, levels=levels)
            if not told["stackFrames"] or self._frames is not frames:
                return  # it went on, or stands anew
            frames[known:] = told["stackFrames"]
            self._points.know(frame["path"] for frame in told["stackFrames"] if frame["path"])

    async def _to_frame(self, index: int) -> None:
        await self._reach(await self._standing(), index + 1)
        if not 0 <= index < len(self._frames):
            end = "the outermost" if index > 0 else "the innermost"
            raise UsageError(f"there is no frame {index}: {end} is {max(0, min(index, len(self._frames) - 1))}")
        self._at = index
        frame = self._frame
        self.paper.put(text.place(frame["path"], frame["line"], frame["name"]))
        thread = await self._standing()
        self._learn(await self.worker.ask("look", threadId=thread.threadId, frameId=frame["id"]))
        await self._show_source(text.AROUND_STOP)

    async def _locals(self, rest: str) -> None:
        thread = await self._standing()
        look = await self.worker.ask("look", threadId=thread.threadId, frameId=self._frame["id"])
        self._learn(look)
        page = look["variables"] or {"variables": [], "total": 0}
        self.paper.put_all(text.variable_lines(page["variables"], page["total"], self.paper.width))

    async def _threads(self, rest: str) -> None:
        self.paper.put_all(text.thread_lines(self.worker.threads, self._selected, time.time_ns()))

    async def _to_thread(self, rest: str) -> None:
        thread = self.worker.thread(number(rest, "the number of a thread, as :threads shows it"))
        if thread is None:
            raise UsageError(f"there is no thread {rest}")
        if is_there(thread):
            await self._select(thread, True)
        else:
            self._selected, self._frames = thread.threadId, []
            self.paper.put(data(f"thread {thread.threadId} {thread.name} runs"))

    async def _tasks(self, rest: str) -> None:
        await self._standing()
        self.paper.put_all(text.task_lines((await self.worker.ask("asyncTasks"))["tasks"]))

    # Evaluating ----------------------------------------------------------------------------------------------------

    async def _print(self, rest: str) -> None:
        if not rest:
            raise UsageError("expected an expression, as in :p loss.item()")
        await self._evaluate(rest, True)

    async def _beside(self, rest: str) -> None:
        if not rest:
            raise UsageError("expected an expression, as in :live self.step")
        await self._await_value(rest, None, False)

    async def _evaluate(self, expression: str, always: bool) -> None:
        """In the selected frame; where somebody types while it runs, beside it."""
        try:
            await self._standing()
        except LiveError:
            if self._patience is not None or any(one.state == "stopped" for one in self.worker.threads):
                raise
            await self._await_value(expression, None, always)
            return
        await self._await_value(expression, self._frame["id"], always)

    async def _await_value(self, expression: str, frame_id: int | None, always: bool) -> None:
        """Ctrl-C (a cancel) ends the waiting alone: the value is told when it comes."""
        work = asyncio.ensure_future(self.worker.evaluate(expression, frame_id))
        try:
            said = await asyncio.wait_for(asyncio.shield(work), self._patience)
        except asyncio.CancelledError:
            self._tell_later(work, expression)
            self.paper.put(data("It goes on in the worker; its value is shown when it comes.", "yellow"))
            raise
        except asyncio.TimeoutError:
            self._tell_later(work, expression)
            self._fail([data(f"still running after {self._patience:g} s; it goes on in the worker", "red")])
            return
        await self._drained()
        if said.get("type") and (always or said["type"] != "NoneType"):
            note = "(beside the program, while it runs)" if said.get("running") else ""
            self.paper.put_all(text.value_lines(said["result"], note))

    def _tell_later(self, work: asyncio.Future[dict[str, Any]], expression: str) -> None:
        async def tell() -> None:
            short = expression.strip().splitlines()[0][:60]
            try:
                said = await work
            except LiveError as error:
                if self.worker.ended is None:
                    self.paper.put(data(f"{short}: {error.body.message}", "red"))
            else:
                self.paper.put(data(f"{short} = {said['result']}" if said.get("type") else f"{short}: done"))

        task = asyncio.ensure_future(tell())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _drained(self) -> None:
        if self.worker.ended is None:
            await self.worker.drain_all()
        self._pieces.end()

    async def _set(self, rest: str) -> None:
        await self._standing()
        name, value = assignment(rest)
        result = await self.worker.set(self._frame["id"], name, value)
        self._pieces.end()
        self._names |= {name}
        self.paper.put(data(name, "cyan").append(" = ").append_text(data(result)))

    # Going on ------------------------------------------------------------------------------------------------------

    async def _go(self, command: str, thread: DebugThread, **more: Any) -> None:
        """What is known of the frames is forgotten before: the next stop may be there before the answer."""
        kept = self._frames, self._names
        self._frames, self._names, self._gave_up = [], frozenset(), False
        try:
            await self.worker.ask(command, threadId=thread.threadId, **more)
        except LiveError:
            self._frames, self._names = kept
            raise

    async def _step(self, command: str) -> None:
        thread = await self._standing()
        after = self.worker.last_stop()
        await self._go(command, thread)
        await self._await_stop(after)

    async def _to_line(self, command: str, rest: str) -> None:
        line = number(rest, "a line's number")
        thread = await self._standing()
        path = self._frame["path"]
        if not path:
            raise UsageError("this frame has no source")
        after = self.worker.last_stop()
        await self._go(command, thread, path=path, line=line)
        await self._await_stop(after)

    async def _await_stop(self, after: int, pausing: bool = False) -> None:
        """A stop tells itself; this waits for it."""
        try:
            came = await self.worker.next_stop(after, self._patience)
        except asyncio.CancelledError:
            how = text.NATIVE if pausing else ":pause stops it."
            self.paper.put(data(f"It runs on; its next stop is told. {how}", "yellow"))
            raise
        if not came and self.worker.ended is None:
            how = f". {text.NATIVE}" if pausing else ""
            self._fail([data(f"no stop in {self._patience:g} s: it runs{how}", "red")])

    async def _continue(self, rest: str) -> None:
        thread = await self._standing()
        await self._go("continue", thread)
        others = sum(is_there(one) and one.threadId != thread.threadId for one in self.worker.threads)
        self.paper.put(data("goes on" + (f"; {others} of its threads stand" if others else "")))

    async def _pause(self, rest: str) -> None:
        after = self.worker.last_stop()
        if any(is_there(one) and one.threadId == self._selected for one in self.worker.threads) and self._frames:
            raise UsageError("it is stopped")
        thread = self.worker.thread(self._selected)
        await self.worker.ask("pause", **({"threadId": thread.threadId} if thread is not None else {}))
        await self._await_stop(after, True)

    async def _wait(self, rest: str) -> None:
        thread = self.worker.thread(self._selected)
        if thread is not None and is_there(thread) and self._frames:
            return
        after = self.worker.last_stop()
        seconds = float(number(rest, "seconds")) if rest else self._patience
        if not await self.worker.next_stop(after, seconds) and self.worker.ended is None:
            self._fail([data(f"no stop in {seconds:g} s: it runs", "red")])

    # Breakpoints ---------------------------------------------------------------------------------------------------

    async def _break(self, rest: str) -> None:
        if not rest:
            await self._breaks(rest)
            return
        path = self._frame["path"] if self._frames else None
        self.paper.put_all(text.break_lines([await self._points.add(rest, path)]))

    async def _breaks(self, rest: str) -> None:
        self.paper.put_all(text.break_lines(self._points.numbered()))

    async def _clear(self, rest: str) -> None:
        gone = await self._points.clear(rest)
        self.paper.put(data(f"removed {', '.join(f'{one.path}:{one.line}' for one in gone) or 'nothing'}"))

    # Leaving -------------------------------------------------------------------------------------------------------

    async def _detach(self, rest: str) -> None:
        self.worker.leaving = True
        try:
            await self.worker.ask("detach")
        except LiveError:
            self.worker.leaving = False
            raise
        self._pieces.end()
        self.paper.put("Detached; the worker runs on.")
        self.left = True
        raise Leave

    async def _quit(self, rest: str) -> None:
        standing = any(is_there(thread) for thread in self.worker.threads)
        state = "and stopped: `raydebug continue` lets it go on" if standing else "and runs"
        self.paper.put(f"The worker stays attached {state}.")
        self.left = True
        raise Leave

    async def _help(self, rest: str) -> None:
        self.paper.put_all(text.help_lines(COMMANDS, LETTERS))
