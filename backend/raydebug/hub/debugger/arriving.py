"""Where a thread stands that has just stopped: its frames, and what only its worker knows of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import msgspec

from raydebug.api.debug import Frame
from raydebug.hub.debugger.answers import Rebuilt, Where, as_told
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.threads import Thread, lost_its_traceback

LEVELS: Final = 100
"""So many frames are fetched at once; others on request."""

if TYPE_CHECKING:
    from raydebug.hub.debugger.session import Session


async def arrived(session: Session, thread: Thread) -> None:
    """Learn where a thread stands, then tell; once more if it has stopped again meanwhile."""
    looked_at = 0
    try:
        while thread.stopped and thread.stop != looked_at:
            looked_at = thread.stop
            with contextlib.suppress(DebugError):
                await _look(session, thread, thread.stop)
    finally:
        thread.arriving = False


async def _look(session: Session, thread: Thread, stop: int) -> None:
    try:
        frames, total = await session.fetch_frames(thread, 0, LEVELS)
        rebuilt = await _rebuilt(session, frames) if lost_its_traceback(frames) else None
        if thread.stop == stop and thread.stopped:
            thread.frames, thread.total_frames = frames, total
            if rebuilt is not None and rebuilt.frames:
                thread.frames = rebuilt.frames + [msgspec.structs.replace(one, subtle=True) for one in frames]
                thread.total_frames, thread.rebuilt = len(thread.frames), True
                thread.text = rebuilt.type or thread.text
        if not thread.name:
            await session.learn_names()
    finally:
        session.changed()
    if thread.stop == stop and thread.stopped:
        # The task is exact, also in threaded and async actors, which run many at once.
        top = thread.top()
        frame = top.id if thread.called and top is not None and not top.rebuilt else None
        facts = as_told(Where, await session.probe("where", thread, frame=frame))
        if thread.stop == stop:
            thread.task_id, thread.os_thread_id = facts.task_id, facts.os_thread_id
            thread.call_line, thread.unwound = facts.call_line, facts.unwound
            session.changed()


async def _rebuilt(session: Session, frames: list[Frame]) -> Rebuilt:
    """The true stack of a post-mortem, from the exception's traceback."""
    return as_told(Rebuilt, await session.probe("exception", frames[0].id) or {})
