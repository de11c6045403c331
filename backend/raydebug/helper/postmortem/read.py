"""From a thread of another process to the exception it is handling, its message and its traceback."""

from __future__ import annotations

import functools
import itertools
import os
import struct
import sys
import traceback
from collections import deque
from pathlib import Path

import msgspec

from .layout import STR_STATE_MASK, Layout, UnsupportedError, learn, own_image, own_memory
from .memory import Image, Memory, PostmortemError, ProcessMemory, UnreadableError, counterpart

MAX_FRAMES = 200
MAX_TRACEBACK = 50_000
MAX_THREADS = 1000
MAX_NESTING = 100
MAX_MESSAGE = 500
MAX_TEXT = 4096
# tp_flags (Include/object.h), part of the stable ABI.
HEAP_TYPE, IS_INT, IS_TUPLE, IS_BYTES, IS_STR, IS_EXCEPTION, IS_TYPE = (1 << n for n in (9, 24, 26, 27, 28, 30, 31))


class Frame(msgspec.Struct, frozen=True):
    function: str
    """Qualified name, from Python 3.11 on; in 3.10 the plain name."""
    file: str
    line: int


class FrozenException(msgspec.Struct, frozen=True, kw_only=True):
    type_name: str
    """As a traceback prints it: with the module, but for builtins and ``__main__``."""
    message: str
    """Made from ``args`` as BaseException, OSError and KeyError do: a class's own ``__str__`` cannot be run here."""
    frames: list[Frame]
    """Outermost first, as a traceback prints them; of a long one the first and the last 100."""
    omitted_frames: int
    """How many are left out in the middle."""
    user_frame: Frame | None
    """The innermost frame of neither the standard library nor installed packages; failing that, not of Ray."""


class _Type(msgspec.Struct, frozen=True):
    name: str
    flags: int
    base: int


class Objects:
    """Reads CPython's objects out of a memory, checking each one's type first."""

    def __init__(self, memory: Memory, layout: Layout) -> None:
        self.memory, self.layout = memory, layout
        self._types: dict[int, _Type] = {}

    def type_of(self, address: int) -> _Type:
        return self._type(self.memory.word(address + self.layout.object_type))

    def _type(self, cls: int) -> _Type:
        if (known := self._types.get(cls)) is not None:
            return known
        memory, layout = self.memory, self.layout
        meta = memory.word(cls + layout.object_type)
        if not memory.word(meta + layout.type_flags) & IS_TYPE:
            raise UnreadableError(f"no Python object's type at {cls:#x}")
        name = memory.read_some(memory.word(cls + layout.type_name), MAX_TEXT).split(b"\0")[0]
        kind = _Type(
            name.decode("utf-8", "replace"),
            memory.word(cls + layout.type_flags),
            memory.word(cls + layout.type_base),
        )
        self._types[cls] = kind
        return kind

    def expect(self, address: int, name: str) -> int:
        if address == 0 or self.type_of(address).name != name:
            raise UnreadableError(f"no {name} at {address:#x}")
        return address

    def text(self, address: int, limit: int = MAX_TEXT // 4) -> str:
        layout = self.layout
        if not self.type_of(address).flags & IS_STR:
            raise UnreadableError(f"no str at {address:#x}")
        state = int.from_bytes(self.memory.read(address + layout.str_state, 4), "little")
        # A subclass of str keeps its characters elsewhere: its state is none of these.
        width, start = layout.str_forms.get(state & STR_STATE_MASK, (0, 0))
        length = self.memory.word(address + layout.str_length)
        if not width or length >= 1 << 40:
            raise UnreadableError(f"no plain str at {address:#x}")
        raw = self.memory.read(address + start, min(length, limit) * width)
        codec = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width]
        # Lone surrogates may be in a str but not in JSON.
        return raw.decode(codec, "replace" if width == 4 else "surrogatepass").encode("utf-8", "replace").decode()

    def raw_bytes(self, address: int, limit: int) -> bytes:
        if not self.type_of(address).flags & IS_BYTES:
            raise UnreadableError(f"no bytes at {address:#x}")
        return self.memory.read(address + self.layout.bytes_data, min(self._length(address), limit))

    def _length(self, address: int) -> int:
        length = self.memory.word(address + self.layout.var_size)
        if length >= 1 << 40:
            raise UnreadableError(f"no object with a length at {address:#x}")
        return length

    def items(self, address: int, limit: int = 10) -> tuple[list[int], bool]:
        """The addresses of a tuple's items, and whether there are more."""
        if not self.type_of(address).flags & IS_TUPLE:
            raise UnreadableError(f"no tuple at {address:#x}")
        length = self._length(address)
        raw = self.memory.read(address + self.layout.tuple_items, 8 * min(length, limit))
        return [word for (word,) in struct.iter_unpack("<Q", raw)], length > limit

    def integer(self, address: int) -> int:
        size = self.memory.word(address + self.layout.var_size)
        if sys.version_info >= (
            3,
            12,
        ):  # lv_tag: sign in the lowest bits, 2 for negative (Include/cpython/longintrepr.h)
            count, negative = size >> 3, size & 3 == 2
        else:  # ob_size, negative for negative numbers
            negative = size >= 1 << 63
            count = (1 << 64) - size if negative else size
        if count > 40:
            raise UnreadableError("a number too long to show")
        raw = self.memory.read(address + self.layout.var_size + 8, 4 * count)
        digits = enumerate(struct.unpack(f"<{count}I", raw))
        value: int = sum(digit << (sys.int_info.bits_per_digit * i) for i, digit in digits)
        return -value if negative else value

    def type_name(self, exception: int) -> str:
        cls = self.memory.word(exception + self.layout.object_type)
        kind = self._type(cls)
        if not kind.flags & HEAP_TYPE:
            return kind.name  # of a class made in C; it carries its module unless it is a builtin
        try:
            name = self.text(self.memory.word(cls + self.layout.type_qualname))
        except UnreadableError:
            return kind.name
        module = self._module(cls)
        return name if module in ("", "builtins", "__main__") else f"{module}.{name}"

    def _module(self, cls: int) -> str:
        """``__module__`` out of the class's dictionary: near the front, the class statement sets it first."""
        try:
            namespace = self.expect(self.memory.word(cls + self.layout.type_dict), "dict")
            keys = self.memory.read_some(self.memory.word(namespace + self.layout.dict_keys), 2048)
        except UnreadableError:
            return ""
        words = [word for (word,) in struct.iter_unpack("<Q", keys[: len(keys) // 8 * 8])]
        for key, value in itertools.pairwise(words):
            # Whatever else is in the table (hashes, indices, values) is no readable str of that text.
            if key % 8 == 0 and key > 1 << 16:
                try:
                    if self.text(key, 11) == "__module__":
                        return self.text(value)
                except UnreadableError:
                    continue
        return ""

    def bases(self, address: int) -> list[str]:
        names: list[str] = []
        cls = self.memory.word(address + self.layout.object_type)
        while cls and len(names) < MAX_NESTING:
            names.append(self._type(cls).name)
            cls = self._type(cls).base
        return names

    def message(self, exception: int) -> str:
        try:
            args, more = self.items(self.memory.word(exception + self.layout.exception_args))
            bases = self.bases(exception)
            if len(args) == 2 and "OSError" in bases:
                number, reason = (self.shown(arg, quoted=False) for arg in args)
                text = f"[Errno {number}] {reason}"
                if filename := self.memory.word(exception + self.layout.os_error_filename):
                    text += f": {self.shown(filename)}"
            elif args and (len(args) == 1 or "SyntaxError" in bases or "BaseExceptionGroup" in bases):
                text = self.shown(args[0], quoted="KeyError" in bases)
            else:
                text = self._tuple(args, more, 0) if args else ""
        except UnreadableError as error:
            text = f"<message not readable: {error}>"
        return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"

    def _tuple(self, items: list[int], more: bool, depth: int) -> str:
        shown = [self.shown(item, depth=depth + 1) for item in items] + ["…"] * more
        return f"({', '.join(shown)}{',' * (len(shown) == 1)})"

    def shown(self, address: int, *, quoted: bool = True, depth: int = 0) -> str:
        """The object's repr, or for a str that is not to be ``quoted`` its text, as far as that can be read."""
        kind = self.type_of(address)
        try:
            if kind.flags & IS_STR:
                text = self.text(address, MAX_MESSAGE + 1)
                return repr(text) if quoted else text
            if kind.flags & IS_INT:
                value = self.integer(address)
                return str(bool(value)) if kind.name == "bool" else str(value)
            if kind.flags & IS_BYTES:
                return repr(self.raw_bytes(address, MAX_MESSAGE))
            if kind.flags & IS_TUPLE and depth < 3:
                return self._tuple(*self.items(address), depth)
            if kind.name == "float":
                data = self.memory.read(address + self.layout.float_value, 8)
                return repr(struct.unpack("<d", data)[0])
        except UnreadableError:
            pass
        return "None" if kind.name == "NoneType" else f"<{kind.name} object>"


def handled_exception(objects: Objects, interpreter: int, thread_id: int) -> int:
    """The exception that a thread is handling: the innermost one, in a coroutine or below it."""
    memory, layout = objects.memory, objects.layout
    state, seen = memory.word(interpreter + layout.interpreter_threads), set[int]()
    while state and memory.word(state + layout.thread_ident) != thread_id:
        seen.add(state)
        state = memory.word(state + layout.thread_next)
        if state in seen or len(seen) > MAX_THREADS:
            raise UnreadableError("the list of threads is too long or loops")
    if not state:
        raise PostmortemError(
            f"no Python thread with the ident {thread_id:#x}: it has ended, or this is not the pthread ident "
            '("thread_id" in py-spy dump --json)'
        )
    if memory.word(state + layout.thread_interpreter) != interpreter:
        raise UnreadableError("a thread of another interpreter")
    item = memory.word(state + layout.thread_exc_info)
    for _ in range(MAX_NESTING):
        if not item:
            break
        value = memory.word(item + layout.item_value)
        if value and objects.type_of(value).flags & IS_EXCEPTION:
            return value
        item = memory.word(item + layout.item_previous)
    raise PostmortemError(
        "the thread is not handling an exception: it is no longer frozen in post-mortem, or never was"
    )


def line_of(linetable: bytes, first: int, lasti: int) -> int:
    """The line of the instruction at byte ``lasti`` (Objects/locations.md in 3.11 and 3.12, InternalDocs/ later)."""
    line, offset, i = first, 0, 0

    def varint() -> int:
        nonlocal i
        value = shift = 0
        while i < len(linetable) and shift < 36:
            byte = linetable[i]
            i += 1
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                break
        return value

    def signed() -> int:
        value = varint()
        return -(value >> 1) if value & 1 else value >> 1

    while i < len(linetable):
        head = linetable[i]
        code, offset, i = head >> 3 & 15, offset + 2 * ((head & 7) + 1), i + 1
        if code == 14:
            line += signed()
            for _ in range(3):
                varint()
        elif code == 13:
            line += signed()
        elif 10 <= code <= 12:
            line, i = line + code - 10, i + 2
        elif code < 10:
            i += 1
        if lasti < offset:
            return first if code == 15 else line
    return first


def read_frames(objects: Objects, tb: int) -> tuple[list[Frame], int]:
    memory, layout = objects.memory, objects.layout
    head: list[int] = []
    tail: deque[int] = deque(maxlen=MAX_FRAMES // 2)
    seen = set[int]()
    while tb and objects.type_of(tb).name != "NoneType":
        objects.expect(tb, "traceback")
        if tb in seen or len(seen) >= MAX_TRACEBACK:
            raise UnreadableError("the traceback is too long or loops")
        seen.add(tb)
        (head if len(head) < MAX_FRAMES // 2 else tail).append(tb)
        tb = memory.word(tb + layout.tb_next)
    kept = [*head, *tail]
    return [_frame(objects, tb) for tb in kept], len(seen) - len(kept)


def _frame(objects: Objects, tb: int) -> Frame:
    memory, layout = objects.memory, objects.layout
    # tb_lineno, behind tb_lasti, is -1 until someone asks for it in some versions (Python/traceback.c).
    lasti, line = struct.unpack("<ii", memory.read(tb + layout.tb_lasti, 8))
    code = objects.expect(memory.word(tb + layout.tb_frame), "frame")
    for offset in layout.frame_code:
        code = memory.word(code + offset)
    objects.expect(code, "code")
    if line <= 0:
        first = struct.unpack("<i", memory.read(code + layout.code_firstlineno, 4))[0]
        table = objects.raw_bytes(memory.word(code + layout.code_linetable), 1 << 20)
        line = line_of(table, first, lasti) if sys.version_info >= (3, 11) else first
    return Frame(
        function=objects.text(memory.word(code + layout.code_name)),
        file=objects.text(memory.word(code + layout.code_filename)),
        line=line,
    )


def user_frame(frames: list[Frame]) -> Frame | None:
    stdlib = os.path.dirname(os.__file__) + os.sep
    not_ray = None
    for frame in reversed(frames):
        if frame.file.endswith((".pyx", ".pxi")) or "-packages/ray/" in frame.file or frame.file.startswith("<frozen"):
            continue
        not_ray = not_ray or frame
        if not frame.file.startswith(stdlib) and not {"site-packages", "dist-packages"} & set(Path(frame.file).parts):
            return frame
    return not_ray or (frames[-1] if frames else None)


def read_from(memory: Memory, layout: Layout, base: int, thread_id: int) -> FrozenException:
    """Read from ``memory``, in which the image of CPython lies at ``base``."""
    objects = Objects(memory, layout)
    interpreter = memory.word(base + layout.runtime + layout.runtime_interpreter)
    if not interpreter:
        raise PostmortemError("Python is not running in the process: it is starting or ending")
    exception = handled_exception(objects, interpreter, thread_id)
    frames, omitted = read_frames(objects, memory.word(exception + layout.exception_traceback))
    return FrozenException(
        type_name=objects.type_name(exception),
        message=objects.message(exception),
        frames=frames,
        omitted_frames=omitted,
        user_frame=user_frame(frames),
    )


@functools.lru_cache(maxsize=1)
def calibrated() -> tuple[Image, Layout]:
    """This Python's layout, tried on an exception of our own and on objects of every kind we show."""
    image = own_image()
    with own_memory() as reader:

        def check(layout: Layout, ident: int, error: BaseException) -> None:
            seen = read_from(Memory(reader), layout, image.base, ident)
            truth = traceback.extract_tb(error.__traceback__)
            plain = [(f.function.rpartition(".")[2], f.file, f.line) for f in seen.frames]
            kind = f"{type(error).__module__}.{type(error).__qualname__}"
            if (seen.type_name, seen.message) != (kind, str(error)):
                raise UnsupportedError(f"a known exception was read as {seen.type_name}: {seen.message!r}")
            if plain != [(f.name, f.filename, f.lineno) for f in truth] or len(plain) < 8:
                raise UnsupportedError("a known traceback was read wrongly")
            items = ("a", "é", "漢", "😀", 0, -5, 1 << 70, -(1 << 70), True, None, 1.5, b"x", ("a", ("b",)))
            known = [Exception(item) for item in items]
            known += [Exception(), Exception(1, "two"), KeyError("k"), OSError(2, "No", "f")]
            for sample in known:
                shown = Objects(Memory(reader), layout).message(id(sample))
                if shown != str(sample):
                    raise UnsupportedError(f"{sample!r} was read as {shown!r}")

        return image, learn(Memory(reader), image, check)


def read_exception(pid: int, thread_id: int) -> FrozenException:
    """The exception that a thread (its pthread ident, py-spy's ``thread_id``) of a process is handling now."""
    image, layout = calibrated()
    problem: UnreadableError | None = None
    with ProcessMemory(pid) as reader, own_memory() as own:
        base = counterpart(image, Memory(own), pid, Memory(reader)).base
        # The frozen thread's objects stand still; the list of threads may change while we walk it.
        for _ in range(3):
            try:
                return read_from(Memory(reader), layout, base, thread_id)
            except UnreadableError as error:
                problem = error
    raise PostmortemError(f"process {pid} could not be read, perhaps it is running again: {problem}")
