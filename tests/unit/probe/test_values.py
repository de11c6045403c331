"""What a value looks like, and what is in it, without running its code."""

from __future__ import annotations

import collections
import dataclasses
import enum
import gc
import json
import threading
import time
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydebug.api import debug
from raydebug.probe import children, entry, handles, text, values


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    handles.forget()


def described(value: Any, name: str | None = "x") -> dict[str, Any]:
    found = values.describe("x", value, name)
    json.dumps(found, allow_nan=False)
    assert set(found) <= set(debug.Variable.__struct_fields__)
    assert set(found.get("summary", {})) <= set(debug.Summary.__struct_fields__)
    return found


def opened(value: Any, name: str | None = "x", start: int = 0, count: int = 100) -> list[dict[str, Any]]:
    page = children.children(described(value, name)["variablesReference"], start, count)
    found: list[dict[str, Any]] = page["variables"]
    return found


def group(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    found = next(entry for entry in entries if entry["name"] == name)
    page = children.children(found["variablesReference"])
    inside: list[dict[str, Any]] = page["variables"]
    return inside


class Raises:
    def __repr__(self) -> str:
        raise ValueError("no")


class Exits:
    def __repr__(self) -> str:
        raise SystemExit


class NoText:
    def __repr__(self) -> str:
        return 5  # type: ignore[return-value]


class Endless:
    def __repr__(self) -> str:
        return repr([self])


class Huge:
    def __repr__(self) -> str:
        return "h" * 1_000_000


class Lies:
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("the class's property ran")


class OwnList(list[int]):
    def __len__(self) -> int:
        raise RuntimeError("its own len ran")

    def __iter__(self) -> Any:
        raise RuntimeError("its own iter ran")


class Slots:
    __slots__ = ("empty", "full")

    def __init__(self) -> None:
        self.full = 1


class Thing:
    ran = False

    def __init__(self) -> None:
        self.plain, self._protected, self.__private = 1, 2, 3

    @property
    def costly(self) -> int:
        Thing.ran = True
        return 42

    @property
    def broken(self) -> int:
        raise KeyError("broken")


@dataclasses.dataclass
class Data:
    number: int
    inner: Any = None


Point = collections.namedtuple("Point", "x y")
Colour = enum.Enum("Colour", "RED")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"),
        (True, "True"),
        (None, "None"),
        (float("nan"), "nan"),
        ("a'b\n", '"a\'b\\n"'),
        ([1, [2, {3: 4}]], "[1, [2, {3: 4}]]"),
        ((1,), "(1,)"),
        (set(), "set()"),
        ({1}, "{1}"),
        (frozenset({1}), "frozenset({1})"),
        (collections.deque([1]), "deque([1])"),
        (collections.Counter("aa"), "Counter({'a': 2})"),
        (collections.defaultdict(list, a=[1]), "defaultdict(list, {'a': [1]})"),
        (collections.OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (Point(1, 2), "Point(x=1, y=2)"),
        (Data(1, [2]), "Data(number=1, inner=[2])"),
        (types.SimpleNamespace(a=1), "namespace(a=1)"),
        (Colour.RED, "<Colour.RED: 1>"),
        (KeyError("k"), "KeyError('k')"),
        (int, "<class 'int'>"),
        (OwnList([1, 2]), "OwnList([1, 2])"),
        (range(3), "range(0, 3)"),
        (2**5000, "0x8000000000000000… (5,001 bits)"),
        (-(2**5000), "-0x8000000000000000… (5,001 bits)"),
    ],
)
def test_text(value: Any, shown: str) -> None:
    assert described(value)["value"] == shown


@pytest.mark.parametrize("kind", [Raises, Exits, NoText, Endless, Huge, Lies])
def test_a_value_with_bad_manners_is_contained(kind: Any) -> None:
    value = kind()
    assert len(described([value, value])["value"]) <= text.LIMIT + 1
    found = described(value)
    assert 0 < len(found["value"]) <= text.LIMIT + 1
    opened(value)


@pytest.mark.parametrize(
    ("value", "clipped"),
    [("s" * 5000, 4000), (b"s" * 5000, 4000), ([0] * 500, 400), (dict.fromkeys(range(500)), 400)],
)
def test_what_is_left_out_is_said(value: Any, clipped: int) -> None:
    found = described(value)
    assert found["summary"]["clipped"] == clipped
    assert found["summary"]["length"] == len(value)
    assert found["value"].rstrip("]}").endswith("…")


def test_what_holds_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    tree: dict[str, Any] = {"loop": loop}
    tree["self"] = tree
    assert described(tree)["value"] == "{'loop': [[…]], 'self': {…}}"
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    assert described(deep)["value"] == "[[[[[…]]]]]"


def test_items_and_the_expressions_for_them() -> None:
    value = {"k": 1, 2: 2, (1, "a"): 3, 1.5: 4, None: 5, Colour.RED: 6, float("inf"): 7, b"b": 8}
    named = {entry["name"]: entry.get("evaluateName") for entry in opened(value)}
    for key, number in value.items():
        expression = named[text.short(key)[0]]
        if isinstance(key, enum.Enum) or key == float("inf"):
            assert expression is None
        else:
            assert expression is not None
            assert eval(expression, {"x": value}) == number
    assert [v.get("evaluateName") for v in opened([7, 8])] == ["x[0]", "x[1]"]
    assert [v.get("evaluateName") for v in opened(Point(1, 2))] == ["x.x", "x.y"]
    assert [v.get("evaluateName") for v in opened({9})] == [None]
    assert [v.get("evaluateName") for v in opened([7], None)] == [None]
    assert [v.get("evaluateName") for v in opened(collections.deque([7]))] == ["x[0]"]


def test_attributes() -> None:
    thing = Thing()
    entries = opened(thing)
    assert [entry["name"] for entry in entries] == ["plain", "properties", "protected", "special"]
    assert {v["name"]: v["evaluateName"] for v in group(entries, "protected")} == {
        "_protected": "x._protected",
        "_Thing__private": "x._Thing__private",
    }
    properties = group(entries, "properties")
    assert [(v["name"], v["presentationHint"]) for v in properties] == [
        (name, {"kind": "property", "lazy": True}) for name in ("broken", "costly")
    ]
    assert not Thing.ran
    costly = children.children(properties[1]["variablesReference"])["variables"]
    assert [(v["name"], v["value"]) for v in costly] == [("costly", "42")]
    answer = json.loads(repr(entry.call("children", json.dumps({"reference": properties[0]["variablesReference"]}))))
    assert answer["error"]["type"] == "KeyError"
    assert [entry["name"] for entry in opened(Slots())] == ["full", "special"]
    assert [entry["name"] for entry in opened(Data(1))] == ["number", "inner", "special"]
    assert [entry["name"] for entry in opened(OwnList([5]))] == ["0", "attributes"]


def test_things_that_stand() -> None:
    def generator() -> Iterator[int]:
        held = 7
        yield held

    standing = generator()
    next(standing)
    assert "suspended at" in described(standing)["value"]
    assert [v["value"] for v in group(opened(standing), "locals")] == ["7"]
    try:
        raise ValueError("why") from KeyError("cause")
    except ValueError as error:
        names = [v["name"] for v in opened(error)]
        traceback = next(v for v in opened(error) if v["name"] == "__traceback__")
    assert names[:3] == ["args", "__cause__", "__traceback__"]
    frame = children.children(traceback["variablesReference"])["variables"][0]
    assert "standing" in {v["name"] for v in children.children(frame["variablesReference"])["variables"]}


def test_pages() -> None:
    for value in ([*range(1000)], tuple(range(1000)), range(1000), dict.fromkeys(range(1000)), set(range(1000))):
        reference = described(value)["variablesReference"]
        page = children.children(reference, 990, 100)
        assert (page["total"], page["start"]) == (1000, 990)
        assert len(page["variables"]) == 10
        assert children.children(reference, 5000, 10)["variables"] == []
        assert len(children.children(reference, 0, 10**9)["variables"]) == 1000
    assert opened(range(10**30))[1]["value"] == str(10**30)


def test_a_container_that_changes_meanwhile() -> None:
    class Grows:
        def __repr__(self) -> str:
            shared[len(shared)] = None
            return "grows"

    shared: dict[Any, Any] = {0: Grows(), 1: 2}
    assert opened(shared)[0]["value"] == "grows"
    assert described(shared)["value"].endswith("…}")


def test_nothing_is_kept_alive() -> None:
    thing = Thing()
    dead = weakref.ref(thing)
    opened({"thing": [thing]})
    group(opened(thing), "properties")
    del thing
    gc.collect()
    assert dead() is not None
    assert handles.forget("this") > 3
    gc.collect()
    assert dead() is None


def test_a_threads_handles_go_with_it() -> None:
    mine = described([1])["variablesReference"]
    found: list[int] = []

    def other() -> None:
        found.append(values.describe("y", [[2]])["variablesReference"])

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    # Opened here, they belong to the thread of what was opened.
    theirs = children.children(found[0])["variables"][0]["variablesReference"]
    assert thread.ident is not None
    assert handles.forget(thread.ident) == 2
    for reference in (found[0], theirs):
        with pytest.raises(handles.GoneError):
            children.children(reference)
    assert children.children(mine)["total"] == 1


def test_the_oldest_handles_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "MOST", 10)
    kept = [[number] for number in range(20)]
    references = [handles.put(item) for item in kept]
    assert [handles.has(reference) for reference in references] == [False] * 10 + [True] * 10
    assert handles.put(kept[-1]) == references[-1]


def test_whole_numbers_in_hex() -> None:
    wanted = {
        255: "0xff",
        -17: "-0x11",
        0: "0x0",
        2**70: "0x400000000000000000",
    }

    class Kind(enum.IntEnum):
        A = 1

    with text.in_hex():
        for value, shown in wanted.items():
            assert values.describe("x", value)["value"] == shown
        # In whatever they are in; what only looks like one stays.
        assert values.describe("x", [1, {16: (17,)}, True, 1.0, "16", None])["value"] == (
            "[0x1, {0x10: (0x11,)}, True, 1.0, '16', None]"
        )
        assert values.describe("x", Kind.A)["value"] == "<Kind.A: 1>"
        # Names say the same as ever, or what is unfolded would fold.
        (one,) = opened({16: 16})
        assert (one["name"], one["value"], one["evaluateName"]) == ("16", "0x10", "x[16]")
        (one,) = opened({(16, "a"): 1})
        assert one["name"] == "(16, 'a')"
        with text.in_hex(False):
            assert values.describe("x", 255)["value"] == "255"
        assert values.describe("x", 255)["value"] == "0xff"
    assert values.describe("x", 255)["value"] == "255"


def test_hex_is_asked_for_with_each_call() -> None:
    def value(**more: Any) -> str:
        told = json.loads(repr(entry.call("evaluate", json.dumps({"expression": "[255]", **more}))))
        return str(told["value"]["result"])

    assert value(hex=True) == "[0xff]"
    assert value(hex=False) == value() == "[255]"
    # Beside the program, on a thread of its own.
    begun = json.loads(repr(entry.call("start", json.dumps({"expression": "255", "wait_s": 30, "hex": True}))))
    assert begun["value"]["value"]["result"] == "0xff"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(), st.lists))
def test_any_plain_value(value: Any) -> None:
    found = described(value)
    assert len(found["value"]) <= text.LIMIT + 1
    if "variablesReference" in found:
        assert children.children(found["variablesReference"])["total"] == len(value)


def test_the_time_it_takes() -> None:
    local: dict[str, Any] = {}
    for number in range(20):
        local |= {
            f"a{number}": number,
            f"b{number}": "some text",
            f"c{number}": [{"role": "user", "content": "hello " * 10}] * 20,
            f"d{number}": Thing(),
            f"e{number}": Data(1, [2]),
            f"f{number}": {"a": 1, "b": [1, 2, 3]},
            f"g{number}": (1.5, None),
            f"h{number}": print,
            f"i{number}": Thing,
            f"j{number}": True,
        }
    best = min(timed(lambda: [values.describe(name, value, name) for name, value in local.items()]) for _ in range(20))
    print(f"{len(local)} locals: {best * 1000:.1f} ms")
    assert best < 0.05
    reference = handles.put([0] * 10_000_000)
    page = min(timed(lambda: children.children(reference, 9_000_000, 100)) for _ in range(20))
    print(f"a page of a list of 10,000,000: {page * 1000:.1f} ms")
    assert page < 0.02


def timed(function: Any) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
