"""The threads of a debugged process, as its debugger tells of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from raydebug.api.debug import DebugThread, Frame
from raydebug.dap.bodies import PATH, StackFrame, clipped

_OTHERS: Final = re.compile(
    r"/(?:ray/(?!rllib|train|tune|data|serve)|debugpy/|_pydev|pydevd)|^<frozen |/concurrent/futures/"
)
"""Code that isn't what the user debugs: Ray's own, the debugger's, and what starts threads."""
_HOOK: Final = "_debugpy_excepthook"


@dataclass
class Thread:
    """``stop``: the number of its last stop in the session. ``frames``: of that stop, once they are known."""

    id: int
    name: str = ""
    stopped: bool = False
    reason: str | None = None
    text: str | None = None
    stop: int = 0
    since_ns: int | None = None
    frames: list[Frame] = field(default_factory=list)
    total_frames: int = 0
    task_id: str | None = None
    busy: int | None = None
    rebuilt: bool = False
    os_thread_id: int | None = None
    called: bool = False
    call_line: int | None = None
    unwound: bool = False
    went_on: bool = False
    arriving: bool = False
    """Where it stands is being looked up."""
    leaving: bool = False
    """It has been told to go on: what is asked of it now, debugpy would answer at its next stop, of another frame."""

    @property
    def native(self) -> int | None:
        """The frame in which this thread evaluates: debugpy's own id of the innermost."""
        return next((frame.id for frame in self.frames if not frame.rebuilt), None)

    def top(self) -> Frame | None:
        """Where it stands for its user: the innermost frame that isn't Ray's or the debugger's."""
        return next((frame for frame in self.frames if not frame.subtle), self.frames[0] if self.frames else None)

    def stops(self, number: int, reason: str, text: str | None, at_ns: int, called: bool) -> None:
        self.called, self.call_line, self.unwound, self.leaving = called, None, False, False
        self.stopped, self.stop, self.reason, self.text, self.since_ns = True, number, reason, text, at_ns
        self.frames, self.total_frames, self.task_id, self.rebuilt = [], 0, None, False

    def resumes(self) -> None:
        self.went_on, self.leaving = True, False
        self.stopped, self.reason, self.text, self.since_ns, self.called = False, None, None, None, False
        self.frames, self.total_frames, self.task_id, self.rebuilt = [], 0, None, False

    def row(self) -> DebugThread:
        top = self.top() if self.stopped else None
        return DebugThread(
            threadId=self.id,
            name=self.name or f"Thread {self.id}",
            state="stopped" if self.stopped else "running",
            reason=self.reason,
            text=self.text,
            stop=self.stop,
            file=top.path if top else None,
            line=top.line if top else None,
            function=top.name if top else None,
            task_id=self.task_id,
            since_ns=self.since_ns,
            busy=self.busy,
            os_thread_id=self.os_thread_id,
            called=self.called,
            call_line=self.call_line,
            unwound=self.unwound or self.rebuilt,
            first=not self.went_on,
        )


def frame_of(told: StackFrame) -> Frame:
    path = told.source.path or None if told.source else None
    if path is not None:
        path = path[-PATH:]
    return Frame(
        id=told.id,
        name=clipped(told.name),
        path=path,
        line=told.line or 0,
        column=told.column or 0,
        subtle=path is None or _OTHERS.search(path.replace("\\", "/")) is not None,
    )


def lost_its_traceback(frames: list[Frame]) -> bool:
    """Whether this is a post-mortem in which debugpy shows Ray's hook in the place of the user's frames: on Python
    3.12 and later."""
    return any(frame.name.endswith(_HOOK) for frame in frames)
