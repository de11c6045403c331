"""``breakpoint()`` within an evaluation is skipped: it would arm the stopped program's own frames, which lie further
out in the same stack, and the stopped thread would run on by a line.

Only while something is evaluated, and only for the threads that do it: to all others the doors below stay what they
are.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import rays

# What a note names; more are counted.
MOST = 3

_lock = threading.RLock()
_evaluating: dict[int, list[list[str]]] = {}
# Owner, name, what was there, what is there instead.
_doors: list[tuple[Any, str, Any, Any]] = []


class skipped:  # noqa: N801
    """While in it, this thread (and a thread of debugpy's, which awaits for it) passes its breakpoints.

    Gives a list that the places of those are put into.
    """

    def __enter__(self) -> list[str]:
        met: list[str] = []
        with _lock:
            first = not _evaluating
            _evaluating.setdefault(threading.get_ident(), []).append(met)
            if first:
                _shut()
        return met

    def __exit__(self, *_: object) -> None:
        ident = threading.get_ident()
        with _lock:
            _evaluating[ident].pop()
            if not _evaluating[ident]:
                del _evaluating[ident]
            if not _evaluating:
                _open()


def note(met: list[str]) -> str:
    """What is told of them."""
    places = list(dict.fromkeys(met))
    more = f" and {len(places) - MOST} more" if len(places) > MOST else ""
    return f"breakpoint() met during evaluation; skipped: {', '.join(places[:MOST])}{more}"


def _shut() -> None:
    """All that leads to a stop ends in one of these, whatever name for it the program holds."""
    module, name = rays.BREAKPOINT
    ray, pydevd, bdb = (sys.modules.get(one) for one in (module, "pydevd", "bdb"))
    # Ray's counts the worker as paused before it asks for a stop: with no debugpy it does neither.
    _replace(ray, name, lambda arguments: True)
    _replace(pydevd, "settrace", _suspends)
    _replace(getattr(bdb, "Bdb", None), "set_trace", lambda arguments: True, _with_frame)


def _open() -> None:
    while _doors:
        owner, name, before, ours = _doors.pop()
        if vars(owner).get(name) is ours:
            setattr(owner, name, before)


def _replace(
    owner: Any,
    name: str,
    stops: Callable[[dict[str, Any]], bool],
    change: Callable[[tuple[Any, ...], dict[str, Any], Any], Any] | None = None,
) -> None:
    before = vars(owner).get(name) if owner is not None else None
    if type(before) is not types.FunctionType:
        return

    def door(*arguments: Any, **named: Any) -> Any:
        if stops(named) and _is_evaluated(sys._getframe(1)):
            return None
        if change is not None:
            arguments = change(arguments, named, sys._getframe(1))
        return before(*arguments, **named)

    # For pydevd a file of its own: it never stops in one, and shows no frame of it.
    file = getattr(sys.modules.get("pydevd"), "__file__", None) or __name__
    door.__code__ = door.__code__.replace(co_filename=file)
    _doors.append((owner, name, before, door))
    setattr(owner, name, door)


def _suspends(named: dict[str, Any]) -> bool:
    return bool(named.get("suspend", True))


def _with_frame(arguments: tuple[Any, ...], named: dict[str, Any], caller: types.FrameType) -> tuple[Any, ...]:
    """Without one, it is the caller's: not ours."""
    return (*arguments, caller) if len(arguments) == 1 and "frame" not in named else arguments


def _is_evaluated(frame: types.FrameType) -> bool:
    """Whether this thread evaluates; if so, the place is noted."""
    ident = threading.get_ident()
    with _lock:
        mine = _evaluating.get(ident)
        thread = getattr(threading, "_active", {}).get(ident)
        if mine is None and not getattr(thread, "is_pydev_daemon_thread", False):
            return False
        place = _place(frame)
        for met in [mine[-1]] if mine else [one[-1] for one in _evaluating.values()]:
            if len(met) < 1000:
                met.append(place)
    return True


def _place(frame: types.FrameType) -> str:
    for step in outwards(frame):
        path = step.f_code.co_filename.replace("\\", "/")
        inner = any(part in path for part in ("/debugpy/", "/pydevd", "/ray/util/", "/_pydev", "<raydebug probe"))
        if not inner and not path.endswith(("/pdb.py", "/bdb.py")):
            return f"{path[-300:]}:{step.f_lineno}"
    return "<console>"


def outwards(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """A frame, its caller, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back
