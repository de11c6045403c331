"""Evaluation while the program runs, on a thread of its own: debugpy's would be lost to code that never ends."""

from __future__ import annotations

import builtins
import itertools
import sys
import threading
import time
from typing import Any

from . import frames, handles, rays

# Of those that ended and that nobody asked for again; the oldest go first.
MOST = 100

_tickets = itertools.count(1)
_outcomes: dict[int, dict[str, Any] | None] = {}
_console: dict[str, Any] = {}
_lock = threading.Lock()


def start(expression: str, wait_s: float = 0.02) -> dict[str, Any]:
    """Begin, and the outcome if it is quick, else ``{"ticket": n}`` for :func:`poll`."""
    ticket = next(_tickets)
    done = threading.Event()
    with _lock:
        _outcomes[ticket] = None

    def run() -> None:
        try:
            names, before = _namespace()
            try:
                value = frames.told(expression, lambda text: frames._run(text, names))
            finally:
                _keep(names, before)
            # Nothing stands still here, so there is nothing that could be unfolded later.
            outcome: dict[str, Any] = {"value": {**value, "variablesReference": 0}}
        except BaseException as error:
            outcome = {"error": frames.printed(error), "type": type(error).__name__, "message": frames.message(error)}
        finally:
            handles.forget("this")
        with _lock:
            _outcomes[ticket] = outcome
            while len(_outcomes) > MOST:
                _outcomes.pop(next(iter(_outcomes)))
        done.set()

    thread = threading.Thread(target=run, name="raydebug evaluates", daemon=True)
    thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
    thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    thread.start()
    done.wait(wait_s)
    return poll(ticket)


def poll(ticket: int) -> dict[str, Any]:
    """The outcome, once; ``{"ticket": n}`` while there is none."""
    with _lock:
        if ticket not in _outcomes:
            raise LookupError("gone: this evaluation isn't known")
        if _outcomes[ticket] is None:
            return {"ticket": ticket, "at": time.time()}
        outcome = _outcomes.pop(ticket)
    assert outcome is not None
    return outcome


def _namespace() -> tuple[dict[str, Any], dict[str, Any]]:
    """The program's main module as it is now, what was set here before, and ``self``: the actor, where this process is
    one. A second time, to tell what is set in it."""
    names = dict(vars(sys.modules["__main__"])) if "__main__" in sys.modules else {}
    names["__builtins__"] = builtins
    names.update(_console)
    if (actor := rays.actor()) is not None:
        names["self"] = actor
    return names, dict(names)


def _keep(names: dict[str, Any], before: dict[str, Any]) -> None:
    """What was set, and nothing else: the program's own variables go on changing."""
    for name in before.keys() - names.keys():
        _console.pop(name, None)
    _console.update({name: value for name, value in names.items() if before.get(name, _console) is not value})
