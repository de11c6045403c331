"""Breakpoints at lines, on their way: the worker says what it has at a path, debugpy sets what can be set there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from raydebug.dap.bodies import MadeBreakpoint, MadeBreakpoints
from raydebug.hub.debugger import tracing
from raydebug.hub.debugger.answers import as_told
from raydebug.hub.debugger.breakpoints import FileTold
from raydebug.hub.debugger.errors import DebugError

if TYPE_CHECKING:
    from raydebug.hub.debugger.session import Session


async def check_file(session: Session, path: str) -> FileTold:
    """Debugpy takes any file that is there, and any line of it. Raises DebugError."""
    told = as_told(FileTold, await session.probe("lines", path=path))
    session.breakpoints.learn(path, told)
    return told


async def set_lines(session: Session, path: str) -> list[MadeBreakpoint]:
    """Have debugpy set what is wanted in a file; what it made of that. Raises DebugError."""
    points = session.breakpoints
    made = (await session.told(MadeBreakpoints, "setBreakpoints", **points.request(path))).breakpoints
    points.answered(path, made)
    return made


async def set_again(session: Session) -> None:
    """After another hub: debugpy has the breakpoints still; asked again, it says which of them it verified."""
    with contextlib.suppress(DebugError):
        for path in list(session.breakpoints.wanted.lines):
            await check_file(session, path)
            await set_lines(session, path)
        await tracing.arm_if_needed(session)
        await session.probe("forget")
    session.changed()
