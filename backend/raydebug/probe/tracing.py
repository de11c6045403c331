"""Python's tracing in this process: taken away, so that training runs at its own speed, and brought back.

With ``sys.settrace`` (Python 3.10 and 3.11) debugpy traces every thread from ``listen`` on, for good. A thread freed of
that is deaf: line breakpoints and pauses don't reach it until ``arm``. With ``sys.monitoring`` (3.12 and later) only
the events that debugpy asks for cost anything.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

TCP, NODELAY = 6, 1
# pydevd's STATE_RUN, STATE_SUSPEND.
_RUN, _SUSPEND = 1, 2


def _part(name: str) -> Any:
    module = sys.modules.get(name)
    if module is None:
        raise RuntimeError(f"{name} isn't loaded: no debugpy in this process")
    return module


def _debugger() -> Any:
    found = _part("pydevd").get_global_debugger()
    if found is None:
        raise RuntimeError("debugpy doesn't run in this process")
    return found


def by_monitoring() -> bool:
    constants = sys.modules.get("_pydevd_bundle.pydevd_constants")
    return bool(getattr(constants, "PYDEVD_USE_SYS_MONITORING", False))


def free_this_thread() -> dict[str, Any]:
    """No trace in the calling thread; for a stopped one, just before it goes on."""
    if by_monitoring():
        _stop_monitoring()
    else:
        _debugger().disable_tracing()
    return state()


def free_all(stepping: bool = False) -> dict[str, Any]:
    """No trace in any thread, those to come included. Threads that run lose theirs at their next call.

    Those that stand must be about to go on. A thread that runs to the end of a step, or into the ``breakpoint()`` that
    it has just called, keeps its trace, or it would never stop; but not with ``stepping``, which ends steps: what would
    be told at a step's end mustn't meet a client that goes (debugpy's adapter may end of it). ``kept``: how many do.
    """
    if stepping:
        cancel_steps()
    if by_monitoring():
        kept = 0 if stepping else sum(map(_steps, list(_active())))
        if not kept:
            _stop_monitoring()
        return {**state(), "kept": kept}
    threading.settrace(None)
    monkey = sys.modules.get("_pydev_bundle.pydev_monkey")
    if monkey is not None:
        monkey.undo_patch_thread_modules()
    kept = 0
    for ident in _program_threads():
        if not stepping and _steps(ident):
            kept += 1
            continue
        step = sys._current_frames().get(ident)
        while step is not None:
            # Debugpy's tracer of a frame brings the thread's back at the frame's next line.
            if step.f_trace is not None:
                step.f_trace = None
            step = step.f_back
        _part("pydevd_tracing").set_trace_to_threads(_remove, {ident}, create_dummy_thread=False)
    return {**state(), "kept": kept}


def _steps(ident: int) -> bool:
    """Whether this thread runs and is to stop soon: at the end of a step, or in ``breakpoint()``."""
    info = getattr(_active().get(ident), "additional_info", None)
    return info is not None and info.pydev_step_cmd != -1 and info.pydev_state == _RUN


def cancel_steps() -> None:
    """Nobody is there any more to whom a thread could show itself at the end of a step."""
    for thread in list(_active().values()):
        info = getattr(thread, "additional_info", None)
        if info is not None and info.pydev_state == _RUN:
            info.pydev_step_cmd, info.pydev_step_stop = -1, None


def start_untraced(work: Callable[[], None]) -> None:
    """On a thread that debugpy doesn't know."""
    thread = sys.modules["_thread"]
    start = getattr(thread, "_original_start_new_thread", None) or thread.start_new_thread
    start(work, ())


def stopped() -> list[threading.Thread]:
    """The threads that stand."""
    infos = [(thread, getattr(thread, "additional_info", None)) for thread in list(_active().values())]
    return [thread for thread, info in infos if info is not None and info.pydev_state == _SUSPEND]


def _settrace() -> Callable[[Any], None]:
    """The interpreter's own: pydevd replaces it by one that warns on the program's stderr."""
    holder = getattr(sys.modules.get("pydevd_tracing"), "TracingFunctionHolder", None)
    found: Callable[[Any], None] = getattr(holder, "_original_tracing", None) or sys.settrace
    return found


def _remove(*_: Any) -> None:
    """A tracer that takes itself away."""
    _settrace()(None)


def _active() -> dict[int, threading.Thread]:
    """By ident; debugpy hides its own from ``threading.enumerate``."""
    found: dict[int, threading.Thread] = getattr(threading, "_active", {})
    return found


def _program_threads() -> set[int]:
    """Of the program, also those that the interpreter knows but that run no Python just now."""
    return set(threads() or sys._current_frames()) - _own_threads()


def _own_threads() -> set[int]:
    """debugpy's."""
    return {
        ident
        for ident, thread in list(_active().items())
        if getattr(thread, "pydev_do_not_trace", False) or getattr(thread, "is_pydev_daemon_thread", False)
    }


def arm() -> dict[str, Any]:
    """Tracing in all threads, those to come included: what is set as a breakpoint hits."""
    debugger = _debugger()
    if by_monitoring():
        monitoring = _monitoring()
        monitoring.start_monitoring(all_threads=True)
        monitoring.update_monitor_events()
        debugger.set_tracing_for_untraced_contexts()
        monitoring.restart_events()
        return state()
    debugger.patch_threads()
    tracer = debugger.get_thread_local_trace_func()
    _part("pydevd_tracing").set_trace_to_threads(tracer, _program_threads(), create_dummy_thread=True)
    debugger.set_tracing_for_untraced_contexts()
    return state()


def nodelay() -> bool:
    """debugpy writes each message in two parts, and Nagle's algorithm holds the second back for 40 ms."""
    sock = getattr(getattr(_debugger(), "writer", None), "sock", None)
    if sock is None:
        return False
    sock.setsockopt(TCP, NODELAY, 1)
    return True


# Monitoring


def _monitoring() -> Any:
    return _part("_pydevd_sys_monitoring.pydevd_sys_monitoring")


def _stop_monitoring() -> None:
    """No global events. debugpy asks for them anew with each breakpoint, pause or step."""
    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    if monitoring.get_tool(monitoring.DEBUGGER_ID) == "pydevd":
        monitoring.set_events(monitoring.DEBUGGER_ID, 0)


# What is on


def state() -> dict[str, Any]:
    """Whether tracing is on, in which threads (by name), and in threads to come.

    ``tracing`` is what slows the process; ``events``: with monitoring, those asked for globally.
    """
    if by_monitoring():
        monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        on = monitoring.get_tool(monitoring.DEBUGGER_ID) == "pydevd"
        mask = monitoring.get_events(monitoring.DEBUGGER_ID) if on else 0
        names = [name for name in dir(monitoring.events) if name.isupper() and name != "NO_EVENTS"]
        events = sorted(name for name in names if mask & getattr(monitoring.events, name))
        return {"by": "monitoring", "tracing": bool(mask), "events": events, "threads": [], "new_threads": False}
    known = threads()
    traced = None if known is None else {ident for ident, on in known.items() if on}
    own = _own_threads()
    called = {thread.ident: thread.name for thread in threading.enumerate()}
    found = [] if traced is None else sorted(called.get(ident) or str(ident) for ident in traced - own)
    new = _patched() or threading.gettrace() is not None
    return {
        "by": "settrace",
        "tracing": bool(found) or new if traced is not None else None,
        "events": [],
        "threads": found,
        "new_threads": new,
    }


def _patched() -> bool:
    thread = sys.modules["_thread"]
    original = getattr(thread, "_original_start_new_thread", None)
    return original is not None and getattr(thread, "start_new_thread", None) is not original


class _Layout:
    """Where a thread's state keeps its ident, its trace object: learnt from a thread that knows both."""

    WORDS = 32

    def __init__(self) -> None:
        self.ident = self.trace = -1
        sentinel = _Sentinel()
        done = threading.Lock()
        done.acquire()
        settrace = _settrace()

        def learn() -> None:
            try:
                settrace(sentinel)
                words = _words(_api("PyThreadState_Get")(), self.WORDS)
                settrace(None)
                self.ident = words.index(threading.get_ident())
                self.trace = words.index(id(sentinel))
            except Exception:
                self.ident = self.trace = -1
            finally:
                done.release()

        start_untraced(learn)
        done.acquire()


class _Sentinel:
    def __call__(self, *_: Any) -> None:
        return None


def _api(name: str) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype = ctypes.c_void_p
    return function


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


_layouts: list[_Layout] = []


def threads() -> dict[int, bool] | None:
    """The idents of all threads and whether each is traced, by the interpreter's own list; None: can't be told."""
    if sys.version_info >= (3, 12):
        return None
    if not _layouts:
        _layouts.append(_Layout())
    layout = _layouts[0]
    if layout.ident < 0 or layout.trace < 0:
        return None
    first, following = _api("PyInterpreterState_ThreadHead"), _api("PyThreadState_Next")
    found: dict[int, bool] = {}
    # ctypes.pythonapi keeps the GIL: no thread comes or goes between two calls but while we run Python code between.
    thread = first(ctypes.c_void_p(_api("PyInterpreterState_Get")()))
    for _ in range(100_000):
        if not thread:
            break
        words = _words(thread, layout.WORDS)
        found[words[layout.ident]] = bool(words[layout.trace])
        thread = following(ctypes.c_void_p(thread))
    return found
