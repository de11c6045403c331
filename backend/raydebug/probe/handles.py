"""Numbers that stand for objects of the stopped program, until its thread goes on.

A handle keeps its object alive: ``forget`` is called before a thread resumes, so that training's memory is its own.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

# pydevd's references are addresses, far above; DAP's own are small.
FIRST = 1_000_000
# Of one thread; the oldest go first.
MOST = 100_000


class GoneError(LookupError):
    """A handle of a stop that is over."""


class _Group:
    def __init__(self) -> None:
        self.by_object: dict[tuple[int, str | None], int] = {}
        self.values: dict[int, tuple[Any, str | None]] = {}


_lock = threading.RLock()
_groups: dict[int, _Group] = {}
_owner: dict[int, int] = {}
_next = FIRST
_current = threading.local()


class group_of:  # noqa: N801
    """While in it, new handles belong to the thread of ``reference`` (or to the thread ``ident``)."""

    def __init__(self, reference: int | None = None, ident: int | None = None) -> None:
        self.ident = _owner.get(reference) if reference is not None else ident
        self.before: int | None = None

    def __enter__(self) -> None:
        self.before = getattr(_current, "ident", None)
        if self.ident is not None:
            _current.ident = self.ident

    def __exit__(self, *_: object) -> None:
        _current.ident = self.before


def put(value: Any, evaluate_name: str | None = None) -> int:
    """The handle of ``value``; the same object under the same name keeps its handle."""
    global _next
    ident = getattr(_current, "ident", None) or threading.get_ident()
    key = (id(value), evaluate_name)
    with _lock:
        group = _groups.get(ident)
        if group is None:
            group = _groups[ident] = _Group()
        reference = group.by_object.get(key)
        if reference is None:
            reference = _next
            _next += 1
            group.by_object[key] = reference
            group.values[reference] = (value, evaluate_name)
            _owner[reference] = ident
            if len(group.values) > MOST:
                _drop_oldest(group)
        return reference


def _drop_oldest(group: _Group) -> None:
    oldest = next(iter(group.values))
    value, name = group.values.pop(oldest)
    del group.by_object[(id(value), name)], _owner[oldest]


def get(reference: int) -> tuple[Any, str | None]:
    """The object, and the expression for it in its frame."""
    with _lock:
        owner = _owner.get(reference)
        if owner is None:
            raise GoneError("gone: the thread went on since this was shown")
        return _groups[owner].values[reference]


def has(reference: int) -> bool:
    return reference in _owner


def forget(thread: int | str | None = None) -> int:
    """Drop the handles of a thread (DAP's ``threadId``, an ident, or ``"this"``) or all. How many there were."""
    ident = None if thread is None else threading.get_ident() if thread == "this" else ident_of(int(thread))
    with _lock:
        gone = [(owner, group) for owner, group in _groups.items() if ident in (None, owner)]
        for owner, group in gone:
            del _groups[owner]
            for reference in group.values:
                del _owner[reference]
        count = sum(len(group.values) for _, group in gone)
    # Objects die outside the lock: a finalizer may run code that comes back here.
    del gone
    return count


def of_pydevd(dap_id: int) -> Any:
    """What pydevd calls the object of DAP's number: a frame's address, a thread's name. None: it knows no such."""
    schema = sys.modules.get("_pydevd_bundle._debug_adapter.pydevd_base_schema")
    return getattr(getattr(schema, "BaseSchema", None), "_dap_id_to_obj_id", {}).get(dap_id)


def ident_of(thread: int) -> int:
    found = of_pydevd(thread)
    ident = pydevd_thread(found) if isinstance(found, str) else None
    return thread if ident is None else ident


def pydevd_thread(pydevd_id: str | None) -> int | None:
    """The ident of the thread that pydevd calls so."""
    module = sys.modules.get("threading")
    if pydevd_id is None or module is None:
        return None
    for thread in module.enumerate():
        if getattr(thread, "__pydevd_id__", None) == pydevd_id:
            ident: int | None = thread.ident
            return ident
    return None
