"""Where CPython keeps what we want to read: learned in this process, from objects we know.

Tables of offsets per version would be wrong for the next patch release or a build with other options. Instead each
offset is found by looking in the memory of a known object for a value we know to be in it. Facts that cannot be
found so are few and named with the CPython source file that states them. ``read.calibrated`` then checks the whole
by reading an exception of our own and comparing; on any difference nothing is read elsewhere.
"""

from __future__ import annotations

import ctypes
import gc
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

import msgspec

from .memory import Image, Memory, PostmortemError, ProcessMemory, UnreadableError, images, mappings

# In 3.10 _PyErr_StackItem starts with exc_type, from 3.11 on with exc_value (Include/cpython/pystate.h).
EXC_VALUE = 8 if sys.version_info < (3, 11) else 0


class UnsupportedError(PostmortemError):
    def __init__(self, what: str) -> None:
        super().__init__(
            f"not supported on this build of Python ({sys.version.split()[0]}, {sys.executable}): {what}. "
            "The exception can still be seen by attaching a debugger"
        )


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets in bytes, each in the structure its first word names."""

    object_type: int
    type_flags: int
    type_name: int
    type_base: int
    type_dict: int
    type_qualname: int
    dict_keys: int
    str_length: int
    str_state: int
    # Masked state -> (bytes per character, offset of the characters).
    str_forms: dict[int, tuple[int, int]]
    var_size: int
    bytes_data: int
    tuple_items: int
    float_value: int
    runtime: int  # from the image's base
    runtime_interpreter: int
    interpreter_threads: int
    thread_next: int
    thread_interpreter: int
    thread_ident: int
    thread_exc_info: int
    item_value: int = EXC_VALUE
    item_previous: int
    exception_args: int
    exception_traceback: int
    os_error_filename: int
    tb_next: int
    tb_frame: int
    tb_lasti: int
    frame_code: tuple[int, ...]
    code_filename: int
    code_name: int
    code_firstlineno: int
    code_linetable: int


# interned:2, then kind:3, compact:1, ascii:1 (Include/cpython/unicodeobject.h, PyASCIIObject.state).
STR_STATE_MASK = 0x7C
# More than any of type's own fields lie within.
TYPE_SIZE = 400


def learn(memory: Memory, image: Image, while_blocked: Callable[[Layout, int, BaseException], None]) -> Layout:
    """Learn the layout; call ``while_blocked(layout, thread ident, exception)`` with a thread that handles it.

    The thread that we ask about is a fresh one: it heads the interpreter's list of threads, so that the list's head
    can be told from other pointers to thread states, and its exception state is not that of a coroutine.
    """
    if sys.byteorder != "little" or struct.calcsize("P") != 8 or "t" in sys.abiflags:
        raise UnsupportedError("only 64-bit little-endian builds with the GIL are")
    known = _objects(memory)
    before = memory.read_some(_api("PyInterpreterState_Get"), INTERPRETER_SIZE)
    probe = _Probe(memory)
    thread = threading.Thread(target=probe.run, name="raydebug-postmortem-calibration", daemon=True)
    thread.start()
    try:
        probe.ready.wait(10)
        if probe.failure is not None:
            raise probe.failure
        if probe.exception is None:
            raise UnsupportedError("the calibration's thread did not start")
        found = known | probe.found | _threads(memory, image, probe, before)
        layout = msgspec.convert(found, Layout, str_keys=False)
        while_blocked(layout, probe.ident, probe.exception)
    finally:
        probe.done.set()
        thread.join(10)
    return layout


def own_image() -> Image:
    """The program or library of this process that holds CPython."""
    address = ctypes.cast(ctypes.pythonapi.PyInterpreterState_Get, ctypes.c_void_p).value or 0
    for image in images(mappings(os.getpid())):
        if any(m.start <= address < m.end for m in image.mappings):
            return image
    raise UnsupportedError("Python's own code is in no mapped file")


def _words(blob: bytes) -> Iterator[tuple[int, int]]:
    usable = len(blob) // 8 * 8
    return ((8 * i, word) for i, (word,) in enumerate(struct.iter_unpack("<Q", blob[:usable])))


def _offsets(blob: bytes, value: int) -> set[int]:
    return {offset for offset, word in _words(blob) if word == value}


def _only(what: str, *candidates: set[int]) -> int:
    """The one offset that all samples agree on."""
    common = set.intersection(*candidates)
    if len(common) != 1:
        raise UnsupportedError(f"{what} found at {sorted(common)} instead of one place")
    return common.pop()


def _of(memory: Memory, obj: object, size: int) -> bytes:
    return memory.read(id(obj), size)


def _where(memory: Memory, what: str, *samples: tuple[object, object], size: int = 0) -> int:
    """The offset in each sample's first object of the pointer to its second."""
    return _only(
        what, *(_offsets(_of(memory, holder, size or type(holder).__basicsize__), id(held)) for holder, held in samples)
    )


def _objects(memory: Memory) -> dict[str, Any]:
    class KnownError(ValueError):
        pass

    found: dict[str, Any] = {"object_type": _where(memory, "ob_type", (ValueError(), ValueError), (1.5, float))}
    plain: tuple[type, ...] = (ValueError, KeyError, int, str, KnownError)
    found["type_flags"] = _only("tp_flags", *(_offsets(_of(memory, cls, TYPE_SIZE), cls.__flags__) for cls in plain))
    found["type_name"] = _only(
        "tp_name",
        *(
            {o for o, w in _words(_of(memory, cls, 64)) if memory.read_some(w, len(name)) == name}
            for cls, name in ((ValueError, b"ValueError\0"), (KeyError, b"KeyError\0"), (KnownError, b"KnownError\0"))
        ),
    )
    found["type_base"] = _where(memory, "tp_base", (KnownError, ValueError), (KeyError, LookupError), size=TYPE_SIZE)
    # The class's real dictionary is what the mapping proxy refers to.
    namespace = next(d for d in gc.get_referents(KnownError.__dict__) if isinstance(d, dict))
    found["type_dict"] = _where(memory, "tp_dict", (KnownError, namespace))
    found["type_qualname"] = _where(memory, "ht_qualname", (KnownError, KnownError.__qualname__))
    key = next(k for k in namespace if k == "__module__")
    pair = struct.pack("<QQ", id(key), id(namespace["__module__"]))
    found["dict_keys"] = _only(
        "ma_keys", {o for o, w in _words(_of(memory, namespace, 48)) if pair in memory.read_some(w, 256)}
    )
    found.update(_strings(memory))
    # Lengths that no other field of these objects has.
    data, items = b"raydebug-bytes" * 99, tuple(range(1234))
    found["bytes_data"] = _of(memory, data, 128).find(data[:32])
    found["var_size"] = _only(
        "ob_size", _offsets(_of(memory, data, 32), len(data)), _offsets(_of(memory, items, 24), len(items))
    )
    found["tuple_items"] = _only("ob_item", _offsets(_of(memory, items, 64), id(items[0])))
    found["float_value"] = _of(memory, 1.2345, 24).find(struct.pack("<d", 1.2345))
    return found | _exceptions(memory)


def _strings(memory: Memory) -> dict[str, Any]:
    forms: dict[int, tuple[int, int]] = {}
    lengths = []
    samples = (("plain", "ascii", 1), ("latin é", "latin-1", 1), ("kanji 漢", "utf-16-le", 2), ("😀", "utf-32-le", 4))
    texts = [(text * 30, text.encode(codec) * 30, width) for text, codec, width in samples]
    for text, _, _ in texts:
        lengths.append(_offsets(_of(memory, text, 48), len(text)))
    length = _only("str.length", *lengths)
    # length, hash, state (Include/cpython/unicodeobject.h, PyASCIIObject).
    state = length + 16
    for text, raw, width in texts:
        blob = _of(memory, text, 128)
        forms[int.from_bytes(blob[state : state + 4], "little") & STR_STATE_MASK] = (width, blob.find(raw[:32]))
    if len(forms) != len(texts) or any(offset < 0 for _, offset in forms.values()):
        raise UnsupportedError("str.state does not tell the kinds of strings apart")
    return {"str_length": length, "str_state": state, "str_forms": forms}


def _raise(error: BaseException) -> None:
    raise error


def _caught(error: BaseException) -> BaseException:
    try:
        _raise(error)
    except BaseException as caught:
        return caught
    raise AssertionError


def _exceptions(memory: Memory) -> dict[str, Any]:
    # Arguments of its own: many exceptions share the empty tuple, others' fields could point to it.
    errors = [_caught(ValueError("one", "two")), _caught(LookupError("three", "four"))]
    found: dict[str, Any] = {
        # BaseException.args returns the very tuple.
        "exception_args": _where(memory, "args", *((e, e.args) for e in errors)),
        "exception_traceback": _where(memory, "traceback", *((e, e.__traceback__) for e in errors)),
    }
    missing = FileNotFoundError(2, "No such file", "a file's name")
    found["os_error_filename"] = _where(memory, "filename", (missing, missing.filename))
    tracebacks: list[TracebackType] = []
    for error in errors:
        tb = error.__traceback__
        while tb is not None:
            tracebacks.append(tb)
            tb = tb.tb_next
    inner = [tb for tb in tracebacks if tb.tb_next is not None]
    found["tb_next"] = _where(memory, "tb_next", *((tb, tb.tb_next) for tb in inner))
    found["tb_frame"] = _where(memory, "tb_frame", *((tb, tb.tb_frame) for tb in tracebacks))
    # tb_next, tb_frame, tb_lasti, tb_lineno (Include/cpython/traceback.h).
    found["tb_lasti"] = found["tb_frame"] + 8
    for tb in tracebacks:
        lasti, line = struct.unpack_from("<ii", _of(memory, tb, 48), found["tb_lasti"])
        if lasti != tb.tb_lasti or line not in (tb.tb_lineno, -1):
            raise UnsupportedError("tb_lasti is not behind tb_frame")
    # Both finished frames and a running one: from 3.11 on they lie in different places (Python/frame.c).
    frames = [sys._getframe(), sys._getframe(1), *(tb.tb_frame for tb in tracebacks)]
    found["frame_code"] = _frame_code(memory, frames)
    return found | _code(memory)


def _frame_code(memory: Memory, frames: list[FrameType]) -> tuple[int, ...]:
    """The path from a frame to its code: one pointer in 3.10, from 3.11 on by way of the _PyInterpreterFrame."""
    paths: set[tuple[int, ...]] | None = None
    for frame in frames:
        code, here = id(frame.f_code), set[tuple[int, ...]]()
        for offset, word in _words(_of(memory, frame, 64)):
            if word == code:
                here.add((offset,))
            else:
                here.update((offset, o) for o, w in _words(memory.read_some(word, 64)) if w == code)
        paths = here if paths is None else paths & here
    if not paths or len(paths) != 1:
        raise UnsupportedError(f"a frame's code found by the paths {sorted(paths or ())}")
    return paths.pop()


def _code(memory: Memory) -> dict[str, Any]:
    # Nested functions: their qualified name is not their name.
    def one() -> None: ...
    def two() -> None: ...

    codes: list[CodeType] = [one.__code__, two.__code__]
    named = "co_qualname" if sys.version_info >= (3, 11) else "co_name"
    lines = [
        {o for o in range(0, 192, 4) if struct.unpack_from("<i", _of(memory, code, 192), o)[0] == code.co_firstlineno}
        for code in codes
    ]
    table = "co_linetable"
    return {
        "code_filename": _where(memory, "co_filename", *((c, c.co_filename) for c in codes)),
        "code_name": _where(memory, named, *((c, getattr(c, named)) for c in codes)),
        "code_linetable": _where(memory, table, *((c, getattr(c, table)) for c in codes)),
        "code_firstlineno": _only("co_firstlineno", *lines),
    }


def _api(name: str) -> int:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = ctypes.c_void_p, []
    return int(function())


# More than any version's structure up to what we look for; reads end where the mapping does.
RUNTIME_SIZE, INTERPRETER_SIZE, THREAD_SIZE = 1 << 13, 1 << 17, 1 << 10


class _Probe:
    """What only the thread itself can find out; it then stays inside its ``except`` block until ``done``."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ready, self.done = threading.Event(), threading.Event()
        self.failure: PostmortemError | None = None
        self.exception: BaseException | None = None
        self.found: dict[str, int] = {}
        self.ident = self.state = 0

    def run(self) -> None:
        try:
            self.ident, self.state = threading.get_ident(), _api("PyThreadState_Get")
            self._exc_info()
            try:
                _sample(7)
            except Exception as error:
                self.exception = error
                self.ready.set()
                self.done.wait(30)
        except PostmortemError as failure:
            self.failure = failure
        finally:
            self.exception = None
            self.ready.set()

    def _exc_info(self) -> None:
        memory, items = self.memory, dict[int, int]()
        try:
            _raise(LookupError())
        except LookupError as error:
            # A plain thread's stack of handled exceptions begins in the thread's state itself.
            for offset, word in _words(memory.read_some(self.state, THREAD_SIZE)):
                inside = self.state <= word < self.state + THREAD_SIZE
                if inside and memory.read_some(word + EXC_VALUE, 8) == id(error).to_bytes(8, "little"):
                    items[offset] = word
        where = self.found["thread_exc_info"] = _only("exc_info", set(items))

        def generator() -> Iterator[int]:
            # A running generator puts its own item on the stack (gi_exc_state, Objects/genobject.c).
            try:
                _raise(KeyError())
            except KeyError as error:
                item = memory.word(self.state + where)
                if item == items[where] or memory.word(item + EXC_VALUE) != id(error):
                    raise UnsupportedError("a generator's exception state is not where it was expected") from None
                yield _only("previous_item", _offsets(memory.read(item, 40), items[where]))

        self.found["item_previous"] = next(generator())


class SampleError(Exception):
    """For the calibration: a class whose qualified name and module the reader must find."""


def _sample(depth: int) -> None:
    if depth:
        return _sample(depth - 1)

    def nested() -> None:
        # Several lines, an instruction far from the function's first line.
        text = "é 漢 😀"
        if text:
            raise SampleError(
                text,
            )

    return nested()


def _threads(memory: Memory, image: Image, probe: _Probe, before: bytes) -> dict[str, Any]:
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    interpreter, own = _api("PyInterpreterState_Get"), _api("PyThreadState_Get")
    hits = _offsets(memory.read_some(runtime, RUNTIME_SIZE), interpreter)
    # interpreters.head and .main follow each other (Include/internal/pycore_runtime.h); the main one is wanted.
    pairs = sorted(offset for offset in hits if offset + 8 in hits)
    if not pairs:
        raise UnsupportedError("the main interpreter is not found in _PyRuntime (a sub-interpreter?)")
    ours, theirs = memory.read_some(own, THREAD_SIZE), memory.read_some(probe.state, THREAD_SIZE)
    back = min(_offsets(ours, interpreter) & _offsets(theirs, interpreter), default=-1)
    idents = _offsets(ours, threading.get_ident()) & _offsets(theirs, probe.ident)
    if back < 0 or not idents:
        raise UnsupportedError("the interpreter or the ident is not found in a thread's state")
    nexts = {
        offset
        for offset, word in _words(theirs)
        if word not in (0, probe.state) and _reaches(memory, word, own, offset, back, interpreter)
    }
    step = _only("PyThreadState.next", nexts)
    return {
        "runtime": runtime - image.base,
        "runtime_interpreter": pairs[0] + 8,
        # The head of the list, before the probe's thread started, was what comes second now. Neither is true of the
        # GIL's last holder (this thread now), nor of the thread states that may lie behind the interpreter.
        "interpreter_threads": _only(
            "threads.head",
            _offsets(memory.read_some(interpreter, INTERPRETER_SIZE), probe.state),
            _offsets(before, memory.word(probe.state + step)),
        ),
        "thread_next": step,
        "thread_interpreter": back,
        "thread_ident": min(idents),
    }


def _reaches(memory: Memory, state: int, goal: int, step: int, back: int, interpreter: int) -> bool:
    """Whether following the pointer at ``step`` leads through thread states to ``goal``, and to an end."""
    passed = False
    for _ in range(1000):
        passed = passed or state == goal
        if not state:
            return passed
        try:
            if memory.word(state + back) != interpreter:
                return False
            state = memory.word(state + step)
        except UnreadableError:
            return False
    return False


def own_memory() -> ProcessMemory:
    return ProcessMemory(os.getpid())
