"""Paused places: where a thread stands, from its stack; and threads that wait at one place, put together."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from raydebug.api.debug import DebugThread
from raydebug.api.helper import Thread
from raydebug.api.paused import PausedSite, PausedThread, SiteKind

_LINES_AFTER_CALL = 3
"""So far below a ``breakpoint()`` its thread may be seen: comments and empty lines lie between."""
_RAY_DEBUGGER_FILES = ("ray/util/debugpy.py", "ray/util/rpdb.py", "ray/util/pdb.py")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where one thread is paused. ``ident``: Python's own id of the thread; ``message``: the exception's."""

    kind: SiteKind
    file: str | None = None
    line: int | None = None
    function: str | None = None
    exception: str | None = None
    message: str | None = None
    thread_id: int | None = None
    ident: int | None = None
    thread_name: str | None = None
    note: str | None = None


def paused_places(threads: Iterable[Thread]) -> list[Place]:
    """The places of the threads that wait for a debugger in these stacks.

    Below Ray's ``set_trace`` lies the frame that called ``breakpoint()``. In post-mortem the user's frames are gone
    from the stack (they live on in the traceback), so the place of an exception is left open here.
    """
    places = []
    for thread in threads:
        place = _place(thread)
        if place is not None:
            places.append(place)
    return places


def _place(thread: Thread) -> Place | None:
    inside = post_mortem = False
    for frame in thread.frames:  # innermost first
        if frame.file.replace("\\", "/").endswith(_RAY_DEBUGGER_FILES):
            inside = inside or "set_trace" in frame.function
            post_mortem = post_mortem or frame.function.endswith("_post_mortem")
            continue
        if inside:
            if post_mortem:
                break
            return Place(
                kind="breakpoint",
                file=frame.file,
                line=frame.line or None,
                function=frame.function,
                thread_id=thread.thread_id,
                ident=thread.ident,
                thread_name=thread.name,
            )
    if not inside and not post_mortem:
        return None
    kind: SiteKind = "exception" if post_mortem else "breakpoint"
    return Place(kind=kind, thread_id=thread.thread_id, ident=thread.ident, thread_name=thread.name)


def place_of_session(thread: DebugThread, before: Iterable[Place]) -> Place:
    """Where a thread of a debugger session stands. ``before``: its worker's places when nobody was attached: what is
    still the same place is called as it was then, so that attaching changes no site.

    A ``breakpoint()`` in the code stops a thread at that line or at the next, by how much of it was traced.
    """
    kind: SiteKind = "exception" if thread.reason == "exception" else "breakpoint"
    line = thread.call_line or thread.line
    after = _LINES_AFTER_CALL if thread.called and not thread.call_line else 0
    near = [
        place
        for place in before
        if (place.kind, place.file) == (kind, thread.file) and 0 <= (line or 0) - (place.line or 0) <= after
    ]
    known = max(near, key=lambda place: place.line or 0, default=None)
    return Place(
        kind=kind,
        file=thread.file,
        line=known.line if known else line,
        function=known.function if known else thread.function,
        exception=known.exception if known else thread.text if kind == "exception" else None,
        message=known.message if known else None,
        thread_id=thread.os_thread_id or (known.thread_id if known else None),
        thread_name=thread.name,
        note=None if thread.file else "looking for the place",
    )


def site_id(place: Place, job_id: str | None) -> str:
    """Depends on the place and the job alone: neither attaching nor the number of its threads changes it.

    A stack read from outside names a method by its class, too, a debugger doesn't.
    """
    function = (place.function or "").rpartition(".")[2]
    parts = (place.kind, place.file, place.line, function, place.exception, job_id)
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()[:12]


def make_sites(paused: Sequence[tuple[Place, PausedThread]]) -> dict[str, PausedSite]:
    """Sites by id, the one that waits longest first."""
    together: dict[str, list[tuple[Place, PausedThread]]] = defaultdict(list)
    for place, thread in paused:
        together[site_id(place, thread.job_id)].append((place, thread))
    sites = []
    for key, found in together.items():
        place = found[0][0]
        members = [thread for _, thread in found]
        members.sort(key=lambda m: (m.group or "", m.rank if m.rank is not None else 2**31, m.pid, m.thread_id or 0))
        sites.append(
            PausedSite(
                site_id=key,
                kind=place.kind,
                file=place.file,
                line=place.line,
                function=place.function,
                exception=place.exception,
                message=place.message,
                since_ns=min(member.since_ns for member in members),
                members=members,
                note=next((place.note for place, _ in found if place.note), None),
            )
        )
    return {site.site_id: site for site in sorted(sites, key=lambda site: (site.since_ns, site.site_id))}
