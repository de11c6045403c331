"""Python's tracing in a session's worker: brought back before anything is set that needs it, taken away when nothing
does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raydebug.hub.debugger.session import Session


async def arm_if_needed(session: Session) -> None:
    if session.breakpoints.need_tracing and not session.armed:
        await arm(session)


async def free_if_idle(session: Session) -> None:
    """Where nothing that is set needs tracing, and nobody stands or is to stand, the worker runs at its own speed."""
    needed = session.breakpoints.need_tracing or session.pausing
    stands = any(thread.stopped for thread in session.threads.values())
    if needed or stands or not (session.tracing or session.armed):
        return
    session.armed = False
    session.tracing = bool((await session.probe("free_all")).get("kept"))
    session.changed()


async def arm(session: Session) -> None:
    await session.probe("arm")
    session.armed = session.tracing = True
    session.changed()
