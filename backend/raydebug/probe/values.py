"""A value as DAP's Variable: its text, what it is, and a handle where there is something in it."""

from __future__ import annotations

import enum
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any

from . import arrays, handles
from .text import LIMIT, is_a, len_of, short, type_name

# Nothing is in these: no handle.
_LEAVES = frozenset(
    {int, float, complex, bool, str, bytes, bytearray, type(None), type(Ellipsis), type(NotImplemented)}
)
_PLAIN_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, deque, range})
_KINDS: dict[type, str] = {
    type(None): "none",
    bool: "bool",
    int: "number",
    float: "number",
    complex: "number",
    str: "text",
    bytes: "bytes",
    bytearray: "bytes",
    memoryview: "bytes",
    list: "list",
    deque: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "set",
    dict: "dict",
    OrderedDict: "dict",
    defaultdict: "dict",
    types.MappingProxyType: "dict",
    range: "range",
    types.FunctionType: "function",
    types.BuiltinFunctionType: "function",
    types.MethodType: "function",
    type: "class",
    types.ModuleType: "module",
    types.GeneratorType: "generator",
    types.CoroutineType: "coroutine",
    types.AsyncGeneratorType: "generator",
}
_WITH_LENGTH = frozenset({"text", "bytes", "list", "tuple", "set", "dict", "range"})
_INDEXED = frozenset({"list", "tuple", "set", "range"})
# Of kinds by base class, for subclasses; in this order.
_BASES: tuple[tuple[type, str], ...] = (
    (BaseException, "exception"),
    (enum.Enum, "enum"),
    (str, "text"),
    (bytes, "bytes"),
    (dict, "dict"),
    (list, "list"),
    (deque, "list"),
    (tuple, "tuple"),
    (set, "set"),
    (frozenset, "set"),
    (int, "number"),
    (float, "number"),
    (type, "class"),
    (types.ModuleType, "module"),
)


class Group:
    """Something to open that is no object of the program: its attributes of a kind, a frame's variables."""

    __slots__ = ("entries", "label")

    def __init__(self, label: str, entries: list[tuple[str, Any, str | None]]) -> None:
        self.label, self.entries = label, entries


class Variables:
    """The variables of a frame as they are when it is opened. ``which``: locals or globals."""

    __slots__ = ("frame", "which")

    def __init__(self, frame: types.FrameType, which: str) -> None:
        self.frame, self.which = frame, which


class Lazy:
    """A property: its code runs only when somebody opens it."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name


def kind_of(value: Any) -> str:
    kind = type(value)
    known = _KINDS.get(kind)
    if known is not None:
        return known
    for base, name in _BASES:
        if issubclass(kind, base):
            return name
    return "number" if arrays.family(value) == "scalar" else "object"


def summary(value: Any, clipped: int = 0) -> dict[str, Any]:
    kind = _KINDS.get(type(value))
    found = arrays.summary(value) if kind is None else None
    if found is None:
        found = {"kind": kind or kind_of(value)}
        if found["kind"] in _WITH_LENGTH:
            length = length_of(value)
            if length is not None:
                found["length"] = length
        if type(value) is memoryview:
            found["nbytes"] = value.nbytes
    else:
        found = {key: item for key, item in found.items() if item is not None}
    if clipped:
        found["clipped"] = clipped
    return found


def length_of(value: Any) -> int | None:
    """The length by the built-in base: a subclass's own ``__len__`` isn't asked."""
    if type(value) in (range, types.MappingProxyType):
        try:
            return len(value)
        except Exception:
            return None  # a range of more than the machine's numbers, or a mapping of the user's behind the proxy
    bases = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque)
    return len_of(value) if is_a(value, *bases) else None


def describe(
    name: str, value: Any, evaluate_name: str | None = None, limit: int = LIMIT, hint: dict[str, Any] | None = None
) -> dict[str, Any]:
    """DAP's Variable (``api.debug.Variable``)."""
    found: dict[str, Any] = {"name": name[:200]}
    if type(value) is Group:
        found.update(value="", variablesReference=handles.put(value), presentationHint={"kind": "virtual"})
        return found
    if type(value) is Lazy:
        found.update(value="", variablesReference=handles.put(value, evaluate_name))
        found.update(presentationHint={"kind": "property", "lazy": True})
        if evaluate_name is not None:
            found["evaluateName"] = evaluate_name
        return found
    found.update(_shown(value, evaluate_name, limit))
    if evaluate_name is not None:
        found["evaluateName"] = evaluate_name
    if hint is not None:
        found["presentationHint"] = hint
    return found


def _shown(value: Any, evaluate_name: str | None, limit: int) -> dict[str, Any]:
    text, clipped = short(value, limit)
    about = summary(value, clipped)
    found: dict[str, Any] = {"value": text, "type": type_name(type(value)), "summary": about}
    if not is_leaf(value):
        found["variablesReference"] = handles.put(value, evaluate_name)
        length = about.get("length")
        if about["kind"] in _INDEXED:
            if length is not None:
                found["indexedVariables"] = length
        elif about["kind"] in ("array", "series", "tensor"):
            shape = about.get("shape")
            if shape:
                found["indexedVariables"] = shape[0]
        elif about["kind"] == "dict" and length is not None:
            found["namedVariables"] = length
    return found


def is_leaf(value: Any) -> bool:
    kind = type(value)
    if kind in _LEAVES:
        return True
    if kind in _PLAIN_CONTAINERS:
        return not value
    return arrays.family(value) == "scalar" and getattr(value.dtype, "kind", "V") != "V"


def shown(value: Any, expression: str | None = None) -> dict[str, Any]:
    """A result in the console (``api.debug.Evaluated``)."""
    found = _shown(value, primary(expression), LIMIT * 10)
    found["result"] = found.pop("value")
    return found


def primary(expression: str | None) -> str | None:
    """The expression such that ``.x`` and ``[0]`` may follow it."""
    if expression is None:
        return None
    expression = expression.strip()
    if not expression or "\n" in expression or len(expression) > 2000:
        return None
    return expression if expression.isidentifier() else f"({expression})"
