"""What is in a value, a page at a time, without walking all of it where that can be avoided."""

from __future__ import annotations

import functools
import itertools
import keyword
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from . import arrays, handles
from .text import DEEPEST, LIMIT, is_a, label
from .values import Group, Lazy, Variables, describe

MOST = 1000
# Characters of all values of a page together: an answer has a limit.
PAGE_TEXT = 300_000

Entry = tuple[str, Any, "str | None"]


class Children(NamedTuple):
    total: int
    page: Callable[[int, int], Iterable[Entry]]


def children(reference: int, start: int = 0, count: int = 100) -> dict[str, Any]:
    """A page of what is behind a handle (``api.debug.Variables``)."""
    value, evaluate_name = handles.get(reference)
    start, count = max(0, int(start)), min(max(0, int(count)), MOST)
    with handles.group_of(reference), arrays.quiet_torch():
        return page_of(inside(value, evaluate_name), start, count)


def page_of(found: Children, start: int, count: int) -> dict[str, Any]:
    count = max(0, min(count, found.total - start))
    limit = max(80, min(LIMIT, PAGE_TEXT // max(1, count)))
    variables: list[dict[str, Any]] = []
    try:
        for name, item, expression in found.page(start, count):
            variables.append(describe(name, item, expression, limit))
    except RuntimeError:
        pass  # another thread changed the container: what was read is shown
    return {"variables": variables, "total": found.total, "start": start}


def listed(entries: list[Entry]) -> Children:
    return Children(len(entries), lambda start, count: entries[start : start + count])


def inside(value: Any, name: str | None) -> Children:
    if type(value) is Group:
        return listed(value.entries)
    if type(value) is Variables:
        frame = value.frame
        return listed(frame_entries(frame) if value.which == "locals" else variables_of(dict(frame.f_globals)))
    if type(value) is Lazy:
        return listed([(value.name, _property(value), name)])
    for base, items in _CONTAINERS:
        if is_a(value, base):
            found = items(value, name)
            if type(value) is base or type(value).__module__ in ("builtins", "collections"):
                return found
            # A subclass: its items, then its attributes as one group.
            rest = attributes(value, name)
            return found if not rest else _then(found, [("attributes", Group("attributes", rest), None)])
    for test, provider in _PROVIDERS:
        if test(value):
            return provider(value, name)
    return listed(attributes(value, name))


def _then(first: Children, rest: list[Entry]) -> Children:
    def page(start: int, count: int) -> Iterator[Entry]:
        yield from first.page(start, min(count, max(0, first.total - start)))
        skip = max(0, start - first.total)
        room = count - max(0, min(count, first.total - start))
        yield from rest[skip : skip + room]

    return Children(first.total + len(rest), page)


def _property(lazy: Lazy) -> Any:
    with arrays.guard_device():
        return getattr(lazy.owner, lazy.name)


# Names of things in a frame


def key_expression(key: Any, depth: int = 0) -> str | None:
    """The key as an expression, where that says the same key for sure."""
    kind = type(key)
    if kind in (str, bytes):
        return repr(key) if len(key) <= 200 else None
    if kind is int:
        return repr(key) if key.bit_length() < 256 else None
    if kind in (bool, type(None)):
        return repr(key)
    if kind is float:
        return repr(key) if key - key == 0 else None
    if kind is tuple and depth < DEEPEST and len(key) <= 20:
        parts = [key_expression(part, depth + 1) for part in key]
        if None in parts:
            return None
        return f"({', '.join(map(str, parts))}{',' * (len(key) == 1)})"
    return None


def item_name(name: str | None, key: Any) -> str | None:
    expression = key_expression(key) if name is not None else None
    return None if expression is None else f"{name}[{expression}]"


def attribute_name(name: str | None, attribute: str) -> str | None:
    if name is None or not attribute.isidentifier() or keyword.iskeyword(attribute):
        return None
    return f"{name}.{attribute}"


# Containers


def _sequence(value: Any, name: str | None) -> Children:
    base: Any = list if is_a(value, list) else tuple if is_a(value, tuple) else range

    def page(start: int, count: int) -> Iterator[Entry]:
        for index, item in enumerate(base.__getitem__(value, slice(start, start + count)), start):
            yield str(index), item, None if name is None else f"{name}[{index}]"

    try:
        return Children(base.__len__(value), page)
    except OverflowError:  # a range beyond the machine's numbers
        return listed([(part, getattr(value, part), attribute_name(name, part)) for part in ("start", "stop", "step")])


def _namedtuple(value: Any, name: str | None) -> Children:
    fields = type(value)._fields
    items = tuple.__iter__(value)
    return listed([(field, item, attribute_name(name, field)) for field, item in zip(fields, items, strict=False)])


def _deque(value: Any, name: str | None) -> Children:
    def page(start: int, count: int) -> Iterator[Entry]:
        for index, item in enumerate(itertools.islice(deque.__iter__(value), start, start + count), start):
            yield str(index), item, None if name is None else f"{name}[{index}]"

    return Children(deque.__len__(value), page)


def _set(value: Any, _: str | None) -> Children:
    base: Any = set if is_a(value, set) else frozenset

    def page(start: int, count: int) -> Iterator[Entry]:
        for index, item in enumerate(itertools.islice(base.__iter__(value), start, start + count), start):
            yield str(index), item, None

    return Children(base.__len__(value), page)


def _dict(value: Any, name: str | None) -> Children:
    def page(start: int, count: int) -> Iterator[Entry]:
        for key, item in itertools.islice(dict.items(value), start, start + count):
            yield label(key), item, item_name(name, key)

    return Children(dict.__len__(value), page)


def _view(value: Any, _: str | None) -> Children:
    def page(start: int, count: int) -> Iterator[Entry]:
        for index, item in enumerate(itertools.islice(value, start, start + count), start):
            yield str(index), item, None

    return Children(len(value), page)


def _proxy(value: Any, name: str | None) -> Children:
    pairs = list(itertools.islice(value.items(), MOST))
    return listed([(label(key), item, item_name(name, key)) for key, item in pairs])


# Arrays and the like


def _array(value: Any, name: str | None) -> Children:
    shape = arrays.shape_of(value) or []
    if not shape:
        return listed([("item", value[()], None if name is None else f"{name}[()]")])

    def page(start: int, count: int) -> Iterator[Entry]:
        for index in range(start, start + count):
            yield str(index), value[index], None if name is None else f"{name}[{index}]"

    return Children(shape[0], page)


def _tensor(value: Any, name: str | None) -> Children:
    rest: list[Entry] = []
    if bool(arrays.plain(value, "is_leaf")) or bool(arrays.plain(value, "retains_grad")):
        rest.append(("grad", arrays.plain(value, "grad"), attribute_name(name, "grad")))
    rest.append(("grad_fn", arrays.plain(value, "grad_fn"), attribute_name(name, "grad_fn")))
    rest.extend(attributes(value, name))
    group: list[Entry] = [("attributes", Group("attributes", rest), None)]
    shape = arrays.shape_of(value)
    strided = str(arrays.plain(value, "layout")) == "torch.strided" and not arrays.plain(value, "is_nested")
    if not shape or not arrays.is_plain_tensor(value) or not strided:
        return listed(group)

    def page(start: int, count: int) -> Iterator[Entry]:
        # Views: metadata alone, on any device.
        for index in range(start, start + count):
            yield str(index), value[index], None if name is None else f"{name}[{index}]"

    return _then(Children(shape[0], page), group)


def _dataframe(value: Any, name: str | None) -> Children:
    columns = value.columns

    def page(start: int, count: int) -> Iterator[Entry]:
        for index in range(start, start + count):
            key = columns[index]
            by_key = item_name(name, key) if type(key) is str and columns.is_unique else None
            expression = by_key or (None if name is None else f"{name}.iloc[:, {index}]")
            yield label(key), value.iloc[:, index], expression

    return Children(len(columns), page)


def _series(value: Any, name: str | None) -> Children:
    labels = getattr(value, "index", None)

    def page(start: int, count: int) -> Iterator[Entry]:
        for index in range(start, start + count):
            if labels is None:
                yield str(index), value[index], None if name is None else f"{name}[{index}]"
            else:
                at = None if name is None else f"{name}.iloc[{index}]"
                yield label(labels[index]), value.iloc[index], at

    return Children(len(value), page)


def _tensordict(value: Any, name: str | None) -> Children:
    found = arrays.tensordict_items(value)
    if found is None:
        return listed(attributes(value, name))
    rest: list[Entry] = [("attributes", Group("attributes", attributes(value, name)), None)]
    return _then(_dict(found, name), rest)


def _model(value: Any, name: str | None) -> Children:
    entries: list[Entry] = []
    for what in ("_parameters", "_buffers", "_modules"):
        for key, item in list(arrays.parts_of(value, what).items())[:100_000]:
            at = attribute_name(name, key) or item_name(attribute_name(name, what), key)
            entries.append((str(key), item, at))
    return listed([*entries, ("attributes", Group("attributes", attributes(value, name)), None)])


# Things that stand somewhere


def frame_entries(frame: types.FrameType) -> list[Entry]:
    return variables_of(dict(frame.f_locals))


def variables_of(namespace: dict[str, Any]) -> list[Entry]:
    """Names of a frame: those with ``__`` last, comprehensions' own left out."""
    names = [name for name in list(namespace) if isinstance(name, str) and not name.startswith(".")]
    special = [name for name in names if name.startswith("__") and name.endswith("__")]
    usual = [name for name in names if name not in set(special)]
    entries = [(name, namespace.get(name), name if name.isidentifier() else None) for name in usual]
    if special:
        group: list[Entry] = [(name, namespace.get(name), name) for name in special]
        entries.append(("special variables", Group("special variables", group), None))
    return entries


def _standing(value: Any, _: str | None) -> Children:
    for prefix, waits in (("gi", "gi_yieldfrom"), ("cr", "cr_await"), ("ag", "ag_await")):
        frame = getattr(value, f"{prefix}_frame", value)
        if frame is not value:
            entries: list[Entry] = [("waits for", getattr(value, waits), None)]
            if frame is not None:
                entries.append(("locals", Group("locals", frame_entries(frame)), None))
            return listed(entries)
    return listed([])


def _traceback(value: Any, _: str | None) -> Children:
    entries: list[Entry] = []
    while value is not None and len(entries) < MOST:
        frame = value.tb_frame
        label = f"{frame.f_code.co_name} {frame.f_code.co_filename}:{value.tb_lineno}"
        entries.append((label, Group("locals", frame_entries(frame)), None))
        value = value.tb_next
    return listed(entries[::-1])


def _exception(value: Any, name: str | None) -> Children:
    entries: list[Entry] = []
    for attribute in ("args", "__cause__", "__context__", "__traceback__"):
        item = BaseException.__dict__[attribute].__get__(value)
        if item is not None:
            entries.append((attribute, item, attribute_name(name, attribute)))
    return listed([*entries, *attributes(value, name)])


def _function(value: Any, name: str | None) -> Children:
    entries: list[Entry] = [("__code__", value.__code__, attribute_name(name, "__code__"))]
    for cell_name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
        try:
            entries.append((f"closure {cell_name}", cell.cell_contents, None))
        except ValueError:
            continue  # an empty cell
    for attribute in ("__defaults__", "__kwdefaults__", "__wrapped__"):
        item = getattr(value, attribute, None)
        if item:
            entries.append((attribute, item, attribute_name(name, attribute)))
    return listed(entries)


# Attributes


def attributes(value: Any, name: str | None) -> list[Entry]:
    """Instance dictionary and slots; properties to be opened; protected and special names and the class last."""
    found = instance_attributes(value)
    usual: list[Entry] = []
    protected: list[Entry] = []
    special: list[Entry] = []
    for key, item in found:
        if not isinstance(key, str):
            usual.append((label(key), item, None))
        elif key.startswith("__") and key.endswith("__"):
            special.append((key, item, attribute_name(name, key)))
        elif key.startswith("_"):
            protected.append((key, item, attribute_name(name, key)))
        else:
            usual.append((key, item, attribute_name(name, key)))
    if not is_a(value, type, types.ModuleType):
        properties = [(key, Lazy(value, key), attribute_name(name, key)) for key in property_names(type(value))]
        if properties:
            usual.append(("properties", Group("properties", [*properties]), None))
        special.append(("__class__", type(value), attribute_name(name, "__class__")))
    if protected:
        usual.append(("protected", Group("protected", protected), None))
    if special:
        usual.append(("special", Group("special", special), None))
    return usual


def instance_attributes(value: Any) -> list[tuple[Any, Any]]:
    if is_a(value, types.ModuleType):
        return list(types.ModuleType.__getattribute__(value, "__dict__").items())
    if is_a(value, type):
        return list(type.__getattribute__(value, "__dict__").items())
    found: list[tuple[Any, Any]] = []
    try:
        namespace = object.__getattribute__(value, "__dict__")
    except Exception:
        namespace = None
    if isinstance(namespace, dict):
        found.extend(list(namespace.items()))
    for base in type(value).__mro__:
        for key, descriptor in list(base.__dict__.items()):
            if type(descriptor) is types.MemberDescriptorType and key not in ("__dict__", "__weakref__"):
                try:
                    found.append((key, descriptor.__get__(value)))
                except Exception:
                    continue  # a slot that isn't filled
    return found


def property_names(kind: type) -> list[str]:
    names: dict[str, bool] = {}
    for base in kind.__mro__:
        for key, item in list(base.__dict__.items()):
            if isinstance(key, str) and key not in names:
                names[key] = isinstance(item, (property, functools.cached_property)) and not key.startswith("__")
    return sorted(key for key, is_property in names.items() if is_property)


_CONTAINERS: tuple[tuple[Any, Callable[[Any, str | None], Children]], ...] = (
    (list, _sequence),
    (dict, _dict),
    (range, _sequence),
    (set, _set),
    (frozenset, _set),
    (deque, _deque),
)


def _is(*kinds: Any) -> Callable[[Any], bool]:
    return lambda value: is_a(value, *kinds)


_PROVIDERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str | None], Children]], ...] = (
    (lambda value: is_a(value, tuple) and isinstance(type(value).__dict__.get("_fields"), tuple), _namedtuple),
    (_is(tuple), _sequence),
    (arrays.is_tensor, _tensor),
    (arrays.is_array, _array),
    (arrays.is_dataframe, _dataframe),
    (arrays.is_series, _series),
    (arrays.is_tensordict, _tensordict),
    (arrays.is_model, _model),
    (_is(BaseException), _exception),
    (_is(type({}.keys()), type({}.values()), type({}.items())), _view),
    (_is(types.MappingProxyType), _proxy),
    (_is(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), _standing),
    (_is(types.TracebackType), _traceback),
    (_is(types.FrameType), lambda value, name: listed(frame_entries(value))),
    (_is(types.FunctionType), _function),
)
