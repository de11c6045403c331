"""A session hears anything, and stays one that can be shown, remembered and asked. What it hears is made up here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydebug.api.keeper import KeptEvent, KeptSession, WillRequest
from raydebug.hub.debugger import lines
from raydebug.hub.debugger import session as module
from raydebug.hub.debugger.channel import Answer
from raydebug.hub.debugger.errors import DebugError
from raydebug.hub.debugger.memory import Memory
from raydebug.hub.debugger.rows import row_of
from raydebug.hub.debugger.session import MOST_THREADS, Session
from raydebug.hub.debugger.target import Target
from tests.unit.dap.test_framing import json_values

TARGET = Target(worker_id="cd" * 28, worker_type="worker", node_id="n", host="h", port=1, pid=1)


class Line:
    """A channel whose other end answers ``body`` to everything, or nothing (None)."""

    kept = True

    def __init__(self, body: bytes | None = None) -> None:
        self.body = body
        self.asked: list[str] = []
        self.notes: list[bytes] = []
        self.closed = False

    async def ask(self, command: str, arguments: dict[str, Any]) -> Answer:
        self.asked.append(command)
        if self.body is None:
            await asyncio.Event().wait()
        return Answer(True, None, self.body or b"")

    def note(self, note: bytes, upto: int, lease_s: float, will: Sequence[WillRequest]) -> None:
        self.notes.append(note)
        msgspec.msgpack.encode(list(will))

    def close(self) -> None:
        self.closed = True


def session_on(line: Line) -> Session:
    session = Session(TARGET, "somebody", lambda: None, 60.0)
    session.channel, session.state, session.capabilities = line, "running", ["x"]
    return session


def shown(session: Session) -> Any:
    row = row_of(session)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=type(row))


def json_of(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (OverflowError, msgspec.MsgspecError):
        return b"%d" % 2**70


NAMES = ["initialized", "stopped", "continued", "thread", "output", "terminated", "exited", "module", "process", ""]
FIELDS = [
    *("threadId", "reason", "text", "hitBreakpointIds", "allThreadsContinued", "category", "output", "module"),
    *("description", "systemProcessId", "name"),
]
VALUES = json_values | st.sampled_from(
    [
        *(1, 2, 3, -1, 2**53, 2**63, 2**64, True, [1], ["x"], [None], {}, "x" * 5000),
        *("started", "exited", "breakpoint", "exception", "stdout", "telemetry"),
    ]
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(NAMES) | st.text(max_size=5),
        (st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5) | VALUES).map(json_of)
        | st.sampled_from([b"", b"{", b"\xff", b"null", b"[" * 5000, b'{"threadId":1e999}']),
    ),
    max_size=12,
)
ANSWERS = st.sampled_from([None, b"", b"null", b"[]", b"7", b"{", b'{"threads":7}', b'{"result":5}']) | json_values.map(
    json_of
)


@given(EVENTS, ANSWERS)
@settings(max_examples=60)
def test_any_event_is_heard(events: list[tuple[str, bytes]], answer: bytes | None) -> None:
    async def hear() -> None:
        line = Line(answer)
        session = session_on(line)
        for number, (name, body) in enumerate(events, 1):
            session.event(KeptEvent(number, number, name, body))
            shown(session)
        for _ in range(20):
            await asyncio.sleep(0)
        shown(session)
        session.flush_output()
        session._leave_note()
        for note in line.notes:
            memory = msgspec.msgpack.decode(note, type=Memory)
            again = Session(TARGET, "x", lambda: None, 60.0)
            kept = [KeptEvent(memory.seen + 1, 1, "output", b'{"output": "later"}')]
            again.resume(_kept(note, kept), Line())
            for _ in range(3):
                await asyncio.sleep(0)
            again.flush_output()
            assert not any("let go" in entry.text for entry in again.console.since(0, 999))
            assert [one.id for one in again.threads.values() if one.stopped] == [
                one.id for one in session.threads.values() if one.stopped
            ]
            assert (again.state == "stopped") == any(one.stopped for one in again.threads.values())
            for work in again._work:
                work.cancel()
        for work in session._work:
            work.cancel()

    asyncio.run(hear())


def _kept(note: bytes, events: list[KeptEvent], ended: str | None = None) -> KeptSession:
    return KeptSession(
        session=TARGET.worker_id,
        host="h",
        port=1,
        opened_ns=1,
        note=note,
        events=events,
        dropped=0,
        asked=[("evaluate", 1), ("threads", 1)],
        ended=ended,
    )


async def test_a_flood_costs_no_more_than_is_shown() -> None:
    line = Line()
    session = session_on(line)
    number = 0

    def say(name: str, body: dict[str, Any]) -> None:
        nonlocal number
        number += 1
        session.event(KeptEvent(number, number, name, msgspec.json.encode(body)))

    for thread in range(20_000):
        say("thread", {"threadId": thread, "reason": "started"})
    for stop in range(20_000):
        say("stopped", {"threadId": stop % 4, "reason": "breakpoint"})
        say("continued", {"threadId": stop % 4})
    say("stopped", {"threadId": 1, "reason": "x" * 100_000, "text": "y" * 100_000})
    for _ in range(20_000):
        say("output", {"category": "stdout", "output": "z" * 1000})
        say("unheard of", {"a": "b" * 1000})
    await asyncio.sleep(0.3)
    assert len(session.threads) == MOST_THREADS
    assert len(session._work) <= MOST_THREADS
    assert line.asked.count("stackTrace") <= 4
    assert line.asked.count("threads") <= 1
    row = shown(session)
    assert len(msgspec.msgpack.encode(row)) < 1 << 20
    stopped = [one for one in row.threads if one.state == "stopped"]
    assert [one.threadId for one in stopped] == [1]
    assert len(stopped[0].reason or "") <= 500
    assert sum(len(one.text) for one in session.console.since(0, 10**6)) <= module.CONSOLE_CHARS
    session._leave_note()
    assert all(len(note) <= module.NOTE_BYTES for note in line.notes)
    for work in session._work:
        work.cancel()


async def test_what_was_let_go_is_told() -> None:
    session = session_on(Line())
    for number in (1, 2, 7):
        session.event(KeptEvent(number, 1, "output", b'{"category": "stdout", "output": "x"}'))
    session.flush_output()
    assert [entry.text.split(":")[0] for entry in session.console.since(0, 9)] == [
        "xxx",
        "4 messages of debugpy were let go",
    ]


async def test_what_cant_be_read_is_noted_once() -> None:
    session = session_on(Line())
    for number in range(1, 50):
        session.event(KeptEvent(number, 1, "stopped", b'{"threadId": []}'))
    (entry,) = session.console.since(0, 99)
    assert "can't be read" in entry.text


@pytest.mark.parametrize("leaving", [True, False])
async def test_the_end_of_the_process_ends_the_session(leaving: bool) -> None:
    line = Line()
    session = session_on(line)
    session.leaving = leaving
    session.event(KeptEvent(1, 1, "terminated", b"null"))
    assert line.closed is not leaving
    assert (session.state == "ended") is not leaving


async def test_questions_that_arent_answered_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_S", 0.05)
    session = session_on(Line())
    for asking in (session.request("setBreakpoints"), session.learn_names(), session.probe("hello")):
        with pytest.raises(DebugError) as error:
            await asking
        assert error.value.body.code == "busy"


@given(json_values.map(json_of))
def test_any_answer_is_taken_or_refused(answer: bytes) -> None:
    async def ask() -> None:
        session = session_on(Line(answer))
        questions = (session.learn_names, lambda: lines.set_lines(session, "f"), lambda: session.probe("hello"))
        for ask_it in questions:
            said = ("failed", "")
            try:
                await ask_it()
            except DebugError as error:
                said = (error.body.code, error.body.message)
            assert said[0] == "failed"
            assert len(said[1]) < 1000
        await session._learn_versions()
        shown(session)

    asyncio.run(ask())


async def test_the_end_of_a_session_that_is_left_is_no_news() -> None:
    """debugpy closes the connection as soon as it has been told goodbye."""
    session = session_on(Line(b"{}"))
    session.leaving = True
    session.ended("debugpy closed the connection")
    assert session.channel is None
    assert (shown(session).state, shown(session).note) == ("running", None)
    assert not session.console.since(0, 10)
