"""Stopped threads and those that run: where one stands, letting it go on, and making one stop."""

from __future__ import annotations

import contextlib
import dis
import os
import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any

from . import breaks, frames, handles, rays, tracing

LATE_S = (0.02, 0.05, 0.1, 0.3, 1.0, 3.0)
# What a program calls to stop, by whichever of its names.
STOPS = frozenset({"breakpoint", "set_trace", "settrace"})


def hello() -> dict[str, Any]:
    """What the session shows of the process."""
    debugpy = sys.modules.get("debugpy")
    constants: Any = sys.modules.get("_pydevd_bundle.pydevd_constants")
    if constants is not None:
        # After 3 s of an evaluation it prints a page of advice; the session shows itself what runs, and since when.
        constants.PYDEVD_WARN_EVALUATION_TIMEOUT = 10.0 * 365 * 86400
    free_when_dropped()
    return {
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "debugpy": getattr(debugpy, "__version__", None),
        "pid": os.getpid(),
        "post_mortem": os.environ.get("RAY_DEBUG_POST_MORTEM") == "1",
        "tracing": tracing.state()["tracing"],
    }


def free_when_dropped() -> bool:
    """When the client goes, debugpy lets all threads go on, but traced for good; from now on they are freed first.

    For a client that died, too: it can't ask for that any more.
    """
    module = sys.modules.get("_pydevd_bundle.pydevd_api")
    if module is None:
        return False
    kind: Any = module.PyDevdAPI
    original = getattr(kind.request_disconnect, "of_pydevd", kind.request_disconnect)

    def request_disconnect(api: Any, py_db: Any, resume_threads: bool) -> None:
        original(api, py_db, False)
        with contextlib.suppress(Exception):  # else they stay as they were, and the rest is done all the same
            _give_streams_back()
        if resume_threads:
            try:
                _release(py_db)
            except Exception:
                api.request_resume_thread("*")

    request_disconnect.of_pydevd = original  # type: ignore[attr-defined]
    kind.request_disconnect = request_disconnect
    return True


def _give_streams_back() -> None:
    """What is printed goes to the program's own streams alone: debugpy would queue it up for nobody, for good."""
    module: Any = sys.modules.get("_pydevd_bundle.pydevd_io")
    if module is None:
        return
    for name in ("stdout", "stderr"):
        holder = getattr(module._RedirectionsHolder, f"_pydevd_{name}_redirect_")
        if holder is None:
            continue
        for sender in getattr(holder.redirect_to, "_redirect_to", ())[1:]:
            # Whoever kept the stream that debugpy put there, as a handler of logging does, goes on writing to it.
            for one in (sender, getattr(sender, "buffer", None)):
                if one is not None:
                    one._on_write = _drop
        module.stop_redirect_stream_to_pydb_io_messages(name)


def _drop(_: Any) -> None:
    """Nobody is there to read it."""


def _release(py_db: Any) -> None:
    handles.forget()
    tracing.free_all(stepping=True)
    _resume(py_db, tracing.stopped())
    tracing.start_untraced(lambda: _resume_late_ones(py_db))


def _resume(py_db: Any, threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread_id = _id_of(thread)
        py_db.post_method_as_internal_command(thread_id, _released, thread_id)
        _wake(thread_id)


def _resume_late_ones(py_db: Any) -> None:
    """A thread at the end of its step comes to stand when the client has gone: nobody would ever let it go on."""
    for pause in LATE_S:
        time.sleep(pause)
        late = tracing.stopped()
        if py_db.is_attached():  # asked after: who stood while nobody was attached stands for nobody
            return
        _resume(py_db, late)


def _released(_: Any, thread_id: str) -> None:
    """In the stopped thread itself, which alone can take its trace away."""
    try:
        tracing.free_this_thread()
    finally:
        _api().request_resume_thread(thread_id)


def where(frame: int | None = None) -> dict[str, Any]:
    """Of the calling thread: its id to the system, the task of Ray's that it runs (hex), whether that has failed and
    left its frames, and of a ``frame`` in which ``breakpoint()`` was called the line of that call."""
    return {
        "os_thread_id": threading.get_native_id(),
        "task_id": rays.task_of_thread(),
        "unwound": any(step.f_code.co_name == rays.POST_MORTEM for step in breaks.outwards(sys._getframe())),
        "call_line": None if frame is None else call_line(frames.find(frame)[0]),
    }


def call_line(frame: types.FrameType) -> int | None:
    """The line of the ``breakpoint()`` at or behind which a frame stands; None where its code doesn't tell.

    The nearest above; below it only where there is but one, as at the end of a loop.
    """
    calls = {offset for offset, name in _names(frame.f_code) if name in STOPS}
    spans = [(range(begin, end), line) for begin, end, line in frame.f_code.co_lines() if line]
    lines = sorted({line for offsets, line in spans if not calls.isdisjoint(offsets)})
    above = [line for line in lines if line <= frame.f_lineno]
    return above[-1] if above else lines[0] if len(lines) == 1 else None


def _names(code: types.CodeType) -> Iterator[tuple[int, str]]:
    """The names that a function's own code uses, and where: offsets in bytes."""
    if not STOPS.isdisjoint(code.co_names) or not STOPS.isdisjoint(code.co_freevars):
        yield from ((one.offset, one.argval) for one in dis.get_instructions(code) if isinstance(one.argval, str))


def go_on(free: bool) -> dict[str, Any]:
    """Let the calling, stopped thread continue as soon as this has been answered. ``free``: without tracing."""
    handles.forget("this")
    told = tracing.free_this_thread() if free else {}
    thread_id = _id_of(threading.current_thread())
    _api().request_resume_thread(thread_id)
    _wake(thread_id)
    return told


def wake() -> int:
    """Have all stopped threads look at what they were told.

    pydevd looks again only 0.2 s after it has carried out an order, so each step would take that long.
    """
    count = 0
    for thread_id in list(_debugger()._thread_events):
        _wake(thread_id)
        count += 1
    return count


def next_order() -> None:
    """Have the calling, stopped thread take the next of its orders at once.

    pydevd takes one each time the thread is woken: of several that came together the others would wait 0.2 s each.
    """
    try:
        thread_id = _id_of(threading.current_thread())
        if thread_id in _debugger()._thread_events:
            orders, event = _debugger().get_internal_queue_and_event(thread_id)
            if not orders.empty():
                event.set()
    except Exception:
        return  # they come later


def suspend(thread_id: int | None = None) -> bool:
    """Stop a thread, by DAP's id; None: all."""
    pydevd_id = "*"
    if thread_id is not None:
        schema = sys.modules["_pydevd_bundle._debug_adapter.pydevd_base_schema"].BaseSchema
        pydevd_id = schema._translate_id_from_dap(thread_id)
    _api().request_suspend_thread(_debugger(), pydevd_id)
    return True


def _debugger() -> Any:
    return tracing._debugger()


def _api() -> Any:
    return sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI()


def _id_of(thread: threading.Thread) -> str:
    return str(sys.modules["_pydevd_bundle.pydevd_constants"].get_current_thread_id(thread))


def _wake(thread_id: str) -> None:
    _, event = _debugger().get_internal_queue_and_event(thread_id)
    event.set()
