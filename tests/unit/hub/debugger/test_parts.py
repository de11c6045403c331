"""The debugger's pure parts: rings, breakpoints, threads, output, arguments, what the probe answers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydebug.api.debug import Frame, SourceBreakpoint
from raydebug.dap import bodies
from raydebug.dap.bodies import BodyError, MadeBreakpoint, read
from raydebug.hub.debugger import arguments
from raydebug.hub.debugger.answers import as_told, unpack
from raydebug.hub.debugger.arguments import only_json, take
from raydebug.hub.debugger.breakpoints import Breakpoints, FileTold, Wanted
from raydebug.hub.debugger.conditions import hits, logged, problem_of
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.messages import LOGGED_CHARS, MessageLog
from raydebug.hub.debugger.output import MOST_CHARS, Output
from raydebug.hub.debugger.rings import Ring
from raydebug.hub.debugger.threads import Thread, frame_of, lost_its_traceback
from tests.unit.dap.test_framing import json_values


@given(st.lists(st.integers(1, 30), max_size=60), st.integers(1, 100), st.integers(-5, 80), st.integers(0, 50))
def test_a_ring_keeps_the_newest(sizes: list[int], most: int, since: int, limit: int) -> None:
    ring: Ring[tuple[int, int]] = Ring(most, lambda entry: entry[1])
    for size in sizes:
        ring.add(lambda number, size=size: (number, size))  # type: ignore[misc]
    assert ring.end == len(sizes)
    kept = ring.since(0, len(sizes) + 1)
    assert [number for number, _ in kept] == list(range(ring.dropped, ring.end))
    assert len(kept) == 1 or sum(size for _, size in kept) <= most
    assert not sizes or kept  # the newest is kept, however large
    wanted = [entry for entry in kept if entry[0] >= since]
    assert ring.since(since, limit) == (wanted[-limit:] if limit else [])


LINES = st.lists(
    st.builds(
        SourceBreakpoint,
        line=st.integers(1, 9),
        condition=st.sampled_from([None, "x"]),
        logMessage=st.sampled_from([None, "{x}"]),
        enabled=st.booleans(),
    ),
    max_size=5,
    unique_by=lambda one: (one.line, one.condition, one.logMessage),
)
MADE = st.lists(
    st.builds(
        MadeBreakpoint,
        id=st.none() | st.integers(0, 20),
        verified=st.booleans(),
        line=st.none() | st.integers(1, 20),
        message=st.none() | st.text(),
    ),
    max_size=7,
)


@given(st.lists(st.tuples(st.sampled_from("ab"), LINES, MADE, st.lists(st.integers(0, 20))), max_size=6))
def test_breakpoints_are_shown_as_wanted(steps: list[Any]) -> None:
    """Whatever debugpy answers: each wanted one has its row, in its place, and hits count for what is still set."""
    points = Breakpoints()
    for path, lines, made, numbers in steps:
        points.set_lines(path, lines)
        sent = points.request(path)
        good = [one for one in lines if one.enabled and problem_of(one) is None]
        assert [one["line"] for one in sent["breakpoints"]] == [one.line for one in good]
        points.answered(path, made)
        points.hit(numbers)
        rows = [row for row in points.rows() if row.path == path]
        assert [(row.condition, row.logMessage, row.enabled) for row in rows] == [
            (one.condition, one.logMessage, one.enabled) for one in lines
        ]
        assert all(row.line == one.line for row, one in zip(rows, lines, strict=True) if not row.verified)
        assert not any(row.verified for row, one in zip(rows, lines, strict=True) if one not in good)
        problems = [problem_of(one) for one in lines]
        assert all(row.message == problem for row, problem in zip(rows, problems, strict=True) if problem)
        every = [row.number for row in points.rows()]
        assert len(set(every)) == len(every)
        assert all(every)
    wanted = [one for lines in points.wanted.lines.values() for one in lines]
    assert points.need_tracing == any(one.enabled and not problem_of(one) for one in wanted)


def test_hits_outlast_a_new_answer() -> None:
    """Of a breakpoint that debugpy moved to another line, too."""
    points = Breakpoints()
    lines = [SourceBreakpoint(line=3), SourceBreakpoint(line=9)]
    points.set_lines("f", lines)
    points.answered("f", [MadeBreakpoint(id=1, verified=True, line=4), MadeBreakpoint(id=2, verified=True, line=9)])
    points.hit([1, 1, 2, 77])
    points.answered("f", [MadeBreakpoint(id=3, verified=True, line=4), MadeBreakpoint(id=4, verified=True, line=9)])
    points.hit([1, 4])  # the first is of the answer before
    assert [(row.line, row.hits) for row in points.rows()] == [(4, 2), (9, 2)]
    points.set_lines("f", [lines[1], SourceBreakpoint(line=3, condition="x")])
    points.answered("f", [])
    assert [(row.line, row.hits) for row in points.rows()] == [(9, 2), (3, 0)]
    points.set_lines("f", [])
    points.answered("f", [])
    assert points.rows() == []


def test_a_breakpoint_keeps_its_number() -> None:
    points = Breakpoints()

    def numbers(path: str, *lines: SourceBreakpoint, moved: int = 0) -> list[int]:
        points.set_lines(path, list(lines))
        points.answered(path, [MadeBreakpoint(verified=True, line=one.line + moved) for one in lines])
        return [row.number for row in points.rows() if row.path == path]

    assert numbers("b", SourceBreakpoint(line=3)) == [1]
    assert numbers("a", SourceBreakpoint(line=3), moved=1) == [2]
    # Asked for at the line to which debugpy moved it, with a condition, after another one.
    assert numbers("a", SourceBreakpoint(line=1), SourceBreakpoint(line=4, condition="x")) == [3, 2]
    assert numbers("a", SourceBreakpoint(line=4, condition="x")) == [2]
    assert numbers("a") == []
    assert numbers("a", SourceBreakpoint(line=4), SourceBreakpoint(line=4, condition="y")) == [4, 5]
    # The next hub takes them over.
    points = Breakpoints(msgspec.msgpack.decode(msgspec.msgpack.encode(points.wanted), type=Wanted))
    assert numbers("a", SourceBreakpoint(line=4, condition="y"), SourceBreakpoint(line=9)) == [5, 6]
    assert numbers("b", SourceBreakpoint(line=3)) == [1]


def test_the_next_hub_shows_what_was_set_until_debugpy_has_answered() -> None:
    points = Breakpoints()
    points.set_lines("f", [SourceBreakpoint(line=3)])
    points.answered("f", [MadeBreakpoint(id=1, verified=True, line=4)])
    points.hit([1])
    taken_over = Breakpoints(points.wanted, points.rows())
    assert taken_over.rows() == points.rows()
    taken_over.answered("f", [MadeBreakpoint(id=2, verified=True, line=4)])
    assert taken_over.rows() == points.rows()
    # What doesn't belong to what is wanted is passed over.
    assert Breakpoints(points.wanted).rows() == []
    assert Breakpoints(points.wanted, [*points.rows(), *points.rows()]).rows() == []


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"condition": "x =="}, "The condition 'x ==' isn't a Python expression: "),
        ({"condition": "x = 3"}, "The condition 'x = 3' isn't a Python expression: "),
        ({"condition": "x) or (y"}, "isn't a Python expression"),
        ({"condition": "x # of a rank"}, "isn't a Python expression"),
        ({"condition": "await x"}, "isn't a Python expression"),
        ({"condition": "(" * 1500}, "isn't a Python expression"),
        ({"condition": "x\0"}, "isn't a Python expression"),
        ({"hitCondition": "x"}, "The hit count 'x' isn't one: a number was expected, or such as >= 5"),
        ({"hitCondition": ">="}, "isn't one"),
        ({"hitCondition": "-1"}, "isn't one"),
        ({"hitCondition": ">= 3 == 1"}, "isn't one"),
        ({"hitCondition": "% 2 == 2"}, "isn't one"),
        ({"hitCondition": "1 or exit()"}, "isn't one"),
        ({"hitCondition": "0"}, "hits count from 1"),
        ({"hitCondition": "% 0"}, "hits count from 1"),
        ({"logMessage": "a {b"}, "In the log message the brace at '{b' isn't closed."),
        ({"logMessage": "a {b: {c}"}, "isn't closed"),
        ({"logMessage": "a {b +}"}, "In the log message 'b +' isn't a Python expression: "),
        ({"logMessage": "a {b:.2f}"}, "isn't a Python expression"),
        ({"condition": " x == {'a': 1}[y] ", "hitCondition": "", "logMessage": ""}, None),
    ],
)
def test_what_debugpy_would_not_understand_is_said_and_not_sent(broken: dict[str, Any], says: str | None) -> None:
    points = Breakpoints()
    points.set_lines("f", [SourceBreakpoint(line=3, **broken), SourceBreakpoint(line=9)])
    sent = [one["line"] for one in points.request("f")["breakpoints"]]
    points.answered("f", [MadeBreakpoint(id=line, verified=True, line=line) for line in sent])
    first, second = points.rows()
    assert (second.line, second.verified, second.message) == (9, True, None)
    if says is None:
        assert (sent, first.verified) == ([3, 9], True)
        return
    assert (sent, first.verified) == ([9], False)
    assert first.message is not None
    assert says in first.message
    assert len(first.message) < 400
    points.set_lines("f", [SourceBreakpoint(line=3, **broken)])
    assert not points.need_tracing


def test_what_the_worker_says_of_the_file_holds_for_all_of_it() -> None:
    points = Breakpoints()
    lines = [SourceBreakpoint(line=3), SourceBreakpoint(line=9)]
    points.set_lines("f", lines)
    points.learn("f", FileTold(lines=8))
    assert [one["line"] for one in points.request("f")["breakpoints"]] == [3]
    points.answered("f", [MadeBreakpoint(id=1, verified=True, line=3)])
    assert [(row.verified, row.message) for row in points.rows()] == [(True, None), (False, "The file has 8 lines.")]
    points.learn("f", FileTold(problem="f: no such file"))
    points.answered("f", [])
    assert [(row.verified, row.message) for row in points.rows()] == [(False, "f: no such file")] * 2
    assert not points.need_tracing
    # Taken over by another hub, and gone without a trace.
    assert Breakpoints(points.wanted).need_tracing
    points.set_lines("f", [])
    points.learn("g", FileTold(problem="?"))
    assert points.request("f")["breakpoints"] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5", "@HIT@ == 5"),
        (" == 5 ", "@HIT@ == 5"),
        (">=3", "@HIT@ >= 3"),
        ("> 0", "@HIT@ > 0"),
        ("<= 3", "@HIT@ <= 3"),
        ("%3", "@HIT@ % 3 == 0"),
        ("% 2 == 1", "@HIT@ % 2 == 1"),
    ],
)
def test_hit_counts_in_pydevds_words(text: str, told: str) -> None:
    assert hits(text) == told


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("plain, 100%", "plain, 100%"),
        ("{x} of {y + 1}", "{(x)} of {(y + 1)}"),
        ("{x}, 5 % done", "{(x)}, 5 %% done"),
        ("{ x % 2 } and {{'a': 1}['a']} {}", "{(x % 2)} and {({'a': 1}['a'])} "),
        ("{a, b} }", "{(a, b)} }"),
    ],
)
def test_log_messages_as_debugpy_writes_them(message: str, told: str) -> None:
    assert logged(message) == told


@pytest.mark.parametrize(
    ("change", "needs"),
    [
        (lambda points: None, False),
        (lambda points: setattr(points, "run_to", ("f", 1)), True),
        (lambda points: points.wanted.filters.append("raised"), True),
        (lambda points: points.wanted.filters.append("userUnhandled"), True),
        (lambda points: points.wanted.types.append("ValueError"), True),
        (lambda points: points.wanted.functions.append("f"), True),
        (lambda points: points.set_lines("f", [SourceBreakpoint(line=1)]), True),
        (lambda points: points.set_lines("f", [SourceBreakpoint(line=1, enabled=False)]), False),
    ],
)
def test_what_needs_tracing(change: Any, needs: bool) -> None:
    points = Breakpoints()
    change(points)
    assert points.need_tracing is needs


def _frame(number: int, path: str | None, name: str = "f", rebuilt: bool = False) -> Frame:
    told = bodies.StackFrame(id=number, name=name, source=bodies.Source(path) if path else None)
    return msgspec.structs.replace(frame_of(told), rebuilt=rebuilt)


def test_where_a_thread_stands_for_its_user() -> None:
    thread = Thread(1)
    assert thread.top() is None
    assert thread.native is None
    thread.stops(1, "breakpoint", None, 5, called=True)
    thread.frames = [
        _frame(1, None),
        _frame(2, "/x/site-packages/ray/util/rpdb.py"),
        _frame(3, "/x/job.py"),
        _frame(4, "/x/site-packages/ray/rllib/algorithm.py"),
    ]
    assert thread.native == 1
    top = thread.top()
    assert top is not None
    assert top.id == 3
    assert not _frame(4, "/x/site-packages/ray/rllib/algorithm.py").subtle
    assert _frame(5, "<frozen importlib>").subtle
    assert (thread.row().file, thread.row().called) == ("/x/job.py", True)
    thread.frames = [_frame(8, "/x/a.py", rebuilt=True), *thread.frames]
    assert thread.native == 1  # a rebuilt frame can't be evaluated in by debugpy
    thread.resumes()
    assert thread.row().state == "running"
    assert (thread.row().file, thread.row().stop, thread.row().called) == (None, 1, False)
    assert lost_its_traceback([_frame(1, "/x/debug.py", "_debugpy_excepthook")])
    assert not lost_its_traceback([_frame(1, "/x/debug.py", "excepthook")])


def test_texts_of_frames_are_kept_short() -> None:
    frame = _frame(1, "/x" * 9000 + "/end.py", "n" * 9000)
    assert len(frame.name) == bodies.NAME
    assert frame.path is not None
    assert len(frame.path) == bodies.PATH
    assert frame.path.endswith("/end.py")


BODIES = [kind for kind in vars(bodies).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


@given(value=json_values, kind=st.sampled_from(BODIES))
def test_any_body_is_read_or_refused(value: Any, kind: Any) -> None:
    """And what was read can be sent on."""
    text = msgspec.json.encode(value) if not _too_large(value) else str(2**70).encode()
    try:
        told = read(kind, text)
    except BodyError:
        return
    msgspec.msgpack.encode(told)


def _too_large(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except (OverflowError, msgspec.MsgspecError):
        return True
    return False


@given(st.text() | json_values.map(lambda value: msgspec.json.encode(value).decode() if not _too_large(value) else "9"))
def test_any_answer_of_the_probe_is_read_or_refused(result: str) -> None:
    code = None
    try:
        unpack(result)
    except DebugError as error:
        code = error.body.code
    assert code in (None, "failed", "gone")


def test_what_the_probe_says_of_errors() -> None:
    assert unpack('{"ok": true, "value": [1]}') == [1]
    for text, code, words in (
        ('{"ok": false, "error": {"type": "GoneError", "message": "x"}}', "gone", "earlier stop"),
        ('{"ok": false, "error": {"type": "KeyError", "message": "x", "traceback": "t"}}', "failed", "KeyError: x"),
        ('{"ok": false, "error": 7}', "failed", "Error"),
        ("{}", "failed", "Error"),
        ("[]", "failed", "can't be read"),
        ("<object>", "failed", "can't be read"),
        ("[" * 100_000, "failed", "can't be read"),
    ):
        with pytest.raises(DebugError) as refused:
            unpack(text)
        assert refused.value.body.code == code
        assert words in refused.value.body.message
        assert len(refused.value.body.message) < 1000
    with pytest.raises(DebugError):
        as_told(Frame, {"id": "x"})


KINDS = [
    kind
    for kind in vars(arguments).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not SourceBreakpoint
]


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_any_arguments_are_taken_or_refused(kind: Any, data: st.DataObject) -> None:
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    values = json_values | st.sampled_from([-1, 0, 2**63, -(2**63), 2**53 + 1, "", "\0", "x" * 200_000, True, 1.5, []])
    given_arguments = data.draw(st.dictionaries(st.sampled_from(names) | st.text(), values, max_size=4))
    said = "bad arguments: "
    try:
        msgspec.msgpack.encode(take(kind, given_arguments))
    except ValueError as error:
        said = str(error)
    assert said.startswith("bad arguments: ")
    assert len(said) < 1000


@pytest.mark.parametrize(
    "bad", [b"x", msgspec.msgpack.Ext(5, b"x"), {"a": [b"x"]}, [[[{"b": msgspec.msgpack.Ext(1, b"")}]]]]
)
def test_only_json_may_be_asked(bad: Any) -> None:
    only_json({"a": [None, True, 1, 1.5, "x", {"b": []}]})
    with pytest.raises(ValueError, match="is no value of JSON"):
        only_json({"expression": bad})


async def test_output_is_gathered_and_kept_short() -> None:
    said: list[tuple[str, str]] = []
    output = Output(lambda kind, text: said.append((kind, text)))
    for number in range(1000):
        output.add("stdout", f"{number}\n")
    output.add("stderr", "e" * (MOST_CHARS + 7))
    output.add("console", "\n")
    output.add("important", "log point")
    output.missed(3)
    output.missed(0)
    await asyncio.sleep(0.1)
    assert [kind for kind, _ in said] == ["stdout", "stderr", "log", "note"]
    assert said[0][1].splitlines() == [str(number) for number in range(1000)]
    assert said[1][1].endswith("(7 more characters)\n")
    assert said[2][1] == "\nlog point"
    assert said[3][1].startswith("3 messages")


async def test_a_line_that_comes_in_pieces_is_one_entry() -> None:
    said: list[tuple[str, str]] = []
    output = Output(lambda kind, text: said.append((kind, text)))
    output.add("stdout", "first\nround 15")
    await asyncio.sleep(0.05)
    output.add("stdout", " total\n")
    output.add("stderr", "no end")
    await asyncio.sleep(1)
    assert said == [("stdout", "first\nround 15 total\n"), ("stderr", "no end")]


def test_the_log_of_messages_is_bounded() -> None:
    log = MessageLog()
    for _ in range(3000):
        log.note(False, "event", "x" * 9000, b"\xff" * 9000)
    kept = log.since(0, 10_000)
    assert sum(len(one.text) for one in kept) <= 2 << 20
    assert all(len(one.text) < LOGGED_CHARS + 100 and len(one.command) <= 100 for one in kept)
    assert log.end == 3000
    assert log.dropped == 3000 - len(kept)
