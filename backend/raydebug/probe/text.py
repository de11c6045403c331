"""A short text of any value, which neither raises nor waits nor grows with the value.

Containers, dataclasses and the like are walked here, never by their own ``repr``: what is in them may be a million
items long, or a CUDA tensor whose printing waits for a stream for ever.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

LIMIT = 1000
MOST_ITEMS = 100
INNER_STRING = 120
DEEPEST = 4
# Of an int that is printed in full. Longer ones take quadratic time, and Python 3.11 and later refuse at 4,300 digits.
MOST_BITS = 3000

_object_repr = object.__repr__
_PLAIN = frozenset({bool, float, complex, type(None), type(Ellipsis), type(NotImplemented)})
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))

# What arrays, tensors and frames look like is another module's affair: it registers itself here.
special: list[Callable[[Any], str | None]] = []


_style = threading.local()


class in_hex:  # noqa: N801
    """While in it, this thread's texts have their whole numbers in hex (or, ``on`` False, as Python has them)."""

    def __init__(self, on: bool = True) -> None:
        self.on = on
        self.before = False

    def __enter__(self) -> None:
        self.before = hexed()
        _style.hex = self.on

    def __exit__(self, *_: object) -> None:
        _style.hex = self.before


def hexed() -> bool:
    return getattr(_style, "hex", False)


class _FullError(Exception):
    """The limit is reached."""


class Writer:
    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.parts: list[str] = []
        self.length = 0
        self.clipped = 0
        self.hex = hexed()
        self.inside: set[int] = set()

    def add(self, text: str) -> None:
        room = self.limit - self.length
        if len(text) > room:
            self.parts.append(text[:room] + "…")
            self.length = self.limit
            raise _FullError
        self.parts.append(text)
        self.length += len(text)

    def write(self, value: Any, depth: int = 0) -> None:
        kind = type(value)
        writer = _WRITERS.get(kind)
        if writer is not None:
            writer(self, value, depth)
        elif kind in _PLAIN:
            self.add(repr(value))
        else:
            self.other(value, kind, depth)

    def string(self, value: str | bytes, depth: int) -> None:
        most = self.limit - self.length if depth == 0 else INNER_STRING
        if len(value) <= most:
            self.add(repr(value))
            return
        if depth == 0:
            self.clipped = len(value) - most
        self.add(repr(value[:most]) + "…")

    def integer(self, value: int, _: int) -> None:
        self.add(integer(value, self.hex))

    def items(self, value: Any, depth: int, before: str, after: str, length: int | None = None) -> None:
        """``value`` may be changed by another thread under the walk."""
        if depth >= DEEPEST or id(value) in self.inside:
            self.add(f"{before}…{after}")
            return
        self.inside.add(id(value))
        self.add(before)
        done = 0
        length = len(value) if length is None else length
        try:
            for item in itertools.islice(value, MOST_ITEMS):
                if done:
                    self.add(", ")
                self.write(item, depth + 1)
                done += 1
        except RuntimeError:
            self.add("…")
        except _FullError:
            if depth == 0:
                self.clipped = max(0, length - done)
            raise
        finally:
            self.inside.discard(id(value))
        if done < length:
            self.add(", …" if done else "…")
            if depth == 0:
                self.clipped = length - done
        self.add(after)

    def sequence(self, value: Any, depth: int) -> None:
        before, after = _BRACKETS[type(value)]
        if type(value) is tuple and len(value) == 1:
            after = ",)"
        elif not value and before == "{":
            before, after = "set(", ")"
        self.items(value, depth, before, after)

    def mapping(self, value: Any, depth: int, before: str = "{", after: str = "}") -> None:
        pairs = dict.items(value) if is_a(value, dict) else value.items()
        self.pairs(value, pairs, len(value), depth, before, after)

    def pairs(
        self, owner: Any, pairs: Iterable[tuple[Any, Any]], length: int, depth: int, before: str, after: str
    ) -> None:
        if depth >= DEEPEST or id(owner) in self.inside:
            self.add(f"{before}…{after}")
            return
        self.inside.add(id(owner))
        self.add(before)
        done = 0
        try:
            for key, item in itertools.islice(pairs, MOST_ITEMS):
                if done:
                    self.add(", ")
                self.write(key, depth + 1)
                self.add(": ")
                self.write(item, depth + 1)
                done += 1
        except RuntimeError:
            self.add("…")
        except _FullError:
            if depth == 0:
                self.clipped = max(0, length - done)
            raise
        finally:
            self.inside.discard(id(owner))
        if done < length:
            self.add(", …" if done else "…")
            if depth == 0:
                self.clipped = length - done
        self.add(after)

    def fields(self, value: Any, depth: int, name: str, fields: Iterable[tuple[str, Any]]) -> None:
        if depth >= DEEPEST or id(value) in self.inside:
            self.add(f"{name}(…)")
            return
        self.inside.add(id(value))
        try:
            self.add(f"{name}(")
            for number, (key, item) in enumerate(fields):
                if number:
                    self.add(", ")
                self.add(f"{key}=")
                self.write(item, depth + 1)
            self.add(")")
        finally:
            self.inside.discard(id(value))

    def other(self, value: Any, kind: type, depth: int) -> None:
        for special_text in special:
            text = special_text(value)
            if text is not None:
                self.add(text)
                return
        if issubclass(kind, BaseException):
            self.fields_of_exception(value, kind, depth)
        elif issubclass(kind, type):
            self.add(f"<class '{type_name(value)}'>")
        elif issubclass(kind, dict):
            self.container(value, kind, dict, depth)
        elif issubclass(kind, tuple) and isinstance(kind.__dict__.get("_fields"), tuple):
            self.fields(value, depth, kind.__name__, zip(kind.__dict__["_fields"], tuple.__iter__(value), strict=False))
        elif issubclass(kind, (list, tuple, set, frozenset, deque)):
            base = next(base for base in (list, tuple, set, frozenset, deque) if issubclass(kind, base))
            self.container(value, kind, base, depth)
        elif issubclass(kind, str) and len_of(value) > self.limit:
            self.string(str.__str__(value), depth)
        elif issubclass(kind, (bytes, bytearray)) and len_of(value) > self.limit:
            self.string(bytes(memoryview(value)[: self.limit + 1]), depth)
        elif issubclass(kind, int) and int.bit_length(value) > MOST_BITS:
            self.add(integer(value, self.hex))
        elif is_dataclass_text(kind):
            self.fields(value, depth, kind.__qualname__, dataclass_fields(value, kind))
        elif kind is types.SimpleNamespace:
            self.fields(value, depth, "namespace", list(vars(value).items()))
        else:
            self.add(plain_text(value, kind))

    def container(self, value: Any, kind: type, base: Any, depth: int) -> None:
        """A subclass, read as its base: its own ``__repr__`` and ``__iter__`` may be anything."""
        name = kind.__name__
        length = base.__len__(value)
        if base is dict:
            default = kind is defaultdict
            before = f"{name}({type_name(value.default_factory)}, {{" if default else f"{name}({{"
            self.pairs(value, dict.items(value), length, depth, before, "})")
        else:
            self.items(base.__iter__(value), depth, f"{name}([", "])", length)

    def fields_of_exception(self, value: BaseException, kind: type, depth: int) -> None:
        args = BaseException.__dict__["args"].__get__(value)
        self.items(args, depth, f"{kind.__name__}(", ")")


def integer(value: int, as_hex: bool = False) -> str:
    bits = int.bit_length(value)
    if bits <= MOST_BITS:
        return int.__format__(value, "#x") if as_hex else int.__repr__(value)
    top = abs(value) >> (bits - 64)
    return f"{'-' if value < 0 else ''}0x{top:x}… ({bits:,} bits)"


def len_of(value: Any) -> int:
    for base in (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque):
        if is_a(value, base):
            return base.__len__(value)
    return 0


def type_name(kind: Any) -> str:
    """A class's name with its module, but for builtins; of what is no class, its text."""
    if not isinstance(kind, type):
        return short(kind, 100)[0]
    try:
        module = type.__getattribute__(kind, "__module__")
        name = type.__getattribute__(kind, "__qualname__")
    except Exception:
        return "?"
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else str(name)


def is_dataclass_text(kind: type) -> bool:
    """A dataclass whose ``__repr__`` is the generated one, which would print every field."""
    if not any("__dataclass_fields__" in base.__dict__ for base in kind.__mro__):
        return False
    code = getattr(kind.__repr__, "__code__", None)
    return code is not None and code.co_filename.endswith(("reprlib.py", "dataclasses.py", "<string>"))


def dataclass_fields(value: Any, kind: type) -> Iterable[tuple[str, Any]]:
    for name, field in getattr(kind, "__dataclass_fields__", {}).items():
        if getattr(field, "repr", True) and getattr(field, "_field_type", None) is not None:
            try:
                yield name, object.__getattribute__(value, name)
            except AttributeError:
                continue


def place_of(value: Any) -> str:
    code = getattr(value, "__code__", None)
    return f" {code.co_filename}:{code.co_firstlineno}" if isinstance(code, types.CodeType) else ""


def plain_text(value: Any, kind: type) -> str:
    if kind is types.FunctionType:
        return f"<function {value.__qualname__}{place_of(value)}>"
    if kind is types.MethodType:
        function = value.__func__
        name = getattr(function, "__qualname__", None)
        return f"<bound method {name if isinstance(name, str) else '?'} of {type_name(type(value.__self__))}>"
    if kind in (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType):
        return standing(value)
    if kind is types.FrameType:
        return f"<frame {value.f_code.co_name} {value.f_code.co_filename}:{value.f_lineno}>"
    if kind is types.TracebackType:
        return f"<traceback {value.tb_frame.f_code.co_name} {value.tb_frame.f_code.co_filename}:{value.tb_lineno}>"
    if issubclass(kind, types.ModuleType):
        namespace = types.ModuleType.__getattribute__(value, "__dict__")
        path = namespace.get("__file__")
        return f"<module {namespace.get('__name__')!r}{f' {path}' if isinstance(path, str) else ''}>"
    if kind.__repr__ is _object_repr:
        return f"<{type_name(kind)} object at {id(value):#x}>"
    return contained_repr(value, kind)


def standing(value: Any) -> str:
    """A generator or coroutine, and the line at which it stands."""
    for prefix, name in (("gi", "generator"), ("cr", "coroutine"), ("ag", "async generator")):
        frame = getattr(value, f"{prefix}_frame", value)
        if frame is value:
            continue
        code = getattr(value, f"{prefix}_code")
        if frame is None:
            return f"<{name} {value.__qualname__}, ended>"
        state = "running" if getattr(value, f"{prefix}_running") else "suspended"
        if state == "suspended" and frame.f_lasti in (-1, 0) and frame.f_lineno in (None, code.co_firstlineno):
            state = "not started"
        return f"<{name} {value.__qualname__}, {state} at {code.co_filename}:{frame.f_lineno}>"
    return f"<{type_name(type(value))}>"


# Entered around a value's own code: raises where it would wait for a device. Set by ``tensors``.
guard: list[Callable[[], Any]] = []


def contained_repr(value: Any, kind: type) -> str:
    """A value's own ``__repr__``, with whatever it may do wrong kept in."""
    own: Any = kind.__repr__
    try:
        with guard[0]() if guard else contextlib.nullcontext():
            text = own(value)
    except BaseException as error:
        return f"<{type_name(kind)}: its repr raised {type(error).__name__}>"
    if not isinstance(text, str):
        return f"<{type_name(kind)}: its repr is no str>"
    return text if type(text) is str else str.__str__(text)[:]


_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    deque: ("deque([", "])"),
}

_WRITERS: dict[type, Callable[[Writer, Any, int], None]] = {
    str: Writer.string,
    bytes: Writer.string,
    int: Writer.integer,
    list: Writer.sequence,
    tuple: Writer.sequence,
    set: Writer.sequence,
    frozenset: Writer.sequence,
    deque: Writer.sequence,
    dict: Writer.mapping,
    OrderedDict: lambda writer, value, depth: writer.mapping(value, depth, "OrderedDict({", "})"),
    types.MappingProxyType: lambda writer, value, depth: writer.add(f"<mappingproxy, {len(value)} items>"),
    bytearray: lambda writer, value, depth: writer.string(bytes(value[: LIMIT + 1]), depth),
    memoryview: lambda writer, value, depth: writer.add(f"<memoryview of {value.nbytes:,} bytes>"),
}
for _view in _VIEWS:
    _WRITERS[_view] = lambda writer, value, depth: writer.items(value, depth, f"{type(value).__name__}([", "])")


def short(value: Any, limit: int = LIMIT) -> tuple[str, int]:
    """The text, and how many characters (of a string) or items (of a container) it leaves out."""
    writer = Writer(limit)
    try:
        writer.write(value)
    except _FullError:
        writer.clipped = writer.clipped or 1
    except BaseException as error:
        return f"<{type_name(type(value))}: {type(error).__name__} while it was shown>", 0
    return "".join(writer.parts), writer.clipped


def label(key: Any) -> str:
    """The text of a key, as the name of what is there: the same whatever the values look like."""
    with in_hex(False):
        return short(key, 200)[0]


def is_a(value: Any, *bases: Any) -> bool:
    """``isinstance`` by the true type: ``__class__`` may be a property, with code of the program behind it."""
    return issubclass(type(value), bases)


def module(name: str) -> Any:
    """A module that the program has loaded, or None. Nothing is ever imported here."""
    return sys.modules.get(name)
