"""Adapters that say anything, beside a real session: nothing hangs, nobody else is disturbed, and it is said why."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from raydebug.api.debug import DebugSession
from raydebug.hub.access.errors import AccessError
from raydebug.hub.debugger import broker as broker_module
from raydebug.hub.debugger import session as session_module
from tests.process.adapters import Adapter, Behaviour, hostile
from tests.support.keeper import Agent, Desk, agent, debuggee, desk, until

GOOD = "aa" * 28
BAD = "bd" * 28
MOST_GROWTH = 200 << 20


class Scene:
    """A keeper, a hub, and a good session; how a bad one fares beside it."""

    def __init__(self, node: Agent, hub: Desk, frame: int) -> None:
        self.node, self.hub, self._frame = node, hub, frame
        self._pid = node.keeper_pid
        assert self._pid is not None
        self._before = psutil.Process(self._pid).memory_info().rss
        self.most = self._before

    async def good_goes_on(self, within_s: float = 10) -> None:
        """The good session's hub answers, and its keeper is the one it was."""
        began = time.monotonic()
        value = await asyncio.wait_for(
            self.hub(GOOD, "evaluate", expression="len(items)", frameId=self._frame), within_s
        )
        assert value.result == "1000", value
        assert self.node.keeper_pid == self._pid
        row = self.hub.rows[GOOD]
        assert (row.state, row.lost_ns) == ("stopped", None)
        memory = psutil.Process(self._pid).memory_info().rss
        self.most = max(self.most, memory)
        assert memory - self._before < MOST_GROWTH, f"{(memory - self._before) >> 20} MB more in the keeper"
        assert time.monotonic() - began < within_s

    @contextlib.asynccontextmanager
    async def beside(self, behaviour: Behaviour) -> AsyncIterator[DebugSession | str]:
        """Attach to it: its row, or why that failed."""
        self.hub.rows.pop(BAD, None)
        async with hostile(behaviour) as port:
            self.hub.targets[BAD] = port
            try:
                await asyncio.wait_for(self.hub(BAD, "attach"), 30)
            except AccessError:
                row = await self.hub.state(BAD, "failed", "ended")
                assert row.note
                yield row.note
            else:
                yield self.hub.rows[BAD]
            await self.good_goes_on()
            with contextlib.suppress(LookupError):
                await asyncio.wait_for(self.hub(BAD, "detach"), 30)
            self.hub.broker._left_at.pop(BAD, None)
        assert set(self.hub.broker.sessions) == {GOOD}


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with agent(tmp_path) as node, debuggee() as (_, port), desk(tmp_path, node, {GOOD: port}) as hub:
        await hub(GOOD, "attach")
        thread, _ = await hub.stopped(GOOD)
        look = await hub(GOOD, "look", threadId=thread)
        yield Scene(node, hub, look.frame_id)


@pytest.fixture
def soon(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What doesn't answer is given up soon."""
    monkeypatch.setattr(session_module, "ANSWER_S", 2.0)
    monkeypatch.setattr(broker_module, "ATTACH_S", 4.0)


def saying(*parts: bytes) -> Behaviour:
    """Bytes as soon as somebody comes; then it listens until nobody is there."""

    async def behave(adapter: Adapter) -> None:
        for part in parts:
            adapter.raw(part)
            await adapter.drain()
        while await adapter.reader.read(65536):
            pass

    return behave


def then(*events: tuple[str, Any], answers: dict[str, bytes | None] | None = None) -> Behaviour:
    """Debugpy's handshake, then events, then answers as always."""

    async def behave(adapter: Adapter) -> None:
        await adapter.serve(until="configurationDone")
        adapter.answers |= answers or {}
        for name, body in events:
            adapter.event(name, body)
        await adapter.serve()

    return behave


async def hundred_megabytes(adapter: Adapter) -> None:
    adapter.raw(b"Content-Length: 104857600\r\n\r\n")
    for _ in range(1600):
        adapter.raw(b"x" * 65536)
        await adapter.drain()


async def endless_header(adapter: Adapter) -> None:
    while True:
        adapter.raw(b"X-Header: " + b"y" * 65536)
        await adapter.drain()


async def hang_up(adapter: Adapter) -> None:
    return


async def never_reads(adapter: Adapter) -> None:
    adapter.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.sleep(30)


BEGINNINGS = [
    pytest.param(hang_up, id="hangs up"),
    pytest.param(saying(), id="is silent"),
    pytest.param(never_reads, id="never reads"),
    pytest.param(hundred_megabytes, id="100 MB, said and sent"),
    pytest.param(endless_header, id="endless header"),
    *(
        pytest.param(saying(said), id=f"{said[:30]!r}")
        for said in (
            b"Content-Length: -1\r\n\r\n{}",
            b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            b"Content-Length: 104857600\r\n\r\n",
            b"\x00" * 100_000,
            b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
            b"Content-Length: 4\r\n\r\nnull",
            b"Content-Length: 2\r\n\r\n[]",
            b"Content-Length: 9\r\n\r\n{'a': 1}}",
            b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
            b'Content-Length: 25\r\n\r\n{"seq":"x","type":"event"}',
        )
    ),
]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("behaviour", BEGINNINGS)
async def test_what_is_no_adapter_is_named(scene: Scene, behaviour: Behaviour) -> None:
    async with scene.beside(behaviour) as outcome:
        assert isinstance(outcome, str)
        assert 5 < len(outcome) < 600


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    "answers",
    [
        {"initialize": b"[]"},
        {"initialize": b'{"exceptionBreakpointFilters": 7}'},
        {"initialize": b'{"exceptionBreakpointFilters": [7]}'},
        {"initialize": None},
        {"attach": None, "configurationDone": None},
        {"configurationDone": None},
        {"evaluate": None},
        {"setExceptionBreakpoints": b'"x"', "configurationDone": b"7", "evaluate": b"[]"},
    ],
    ids=str,
)
async def test_a_handshake_that_goes_wrong(scene: Scene, answers: dict[str, bytes | None]) -> None:
    async def behave(adapter: Adapter) -> None:
        adapter.answers |= answers
        await adapter.serve()

    async with scene.beside(behave) as outcome:
        assert isinstance(outcome, DebugSession) or len(outcome) < 600


JUNK: list[Any] = [None, [], {}, "", "x", -1, 0, 1.5, True, 2**53 + 1, [[]], {"threadId": {}}]
FIELDS = {
    "stopped": ["threadId", "reason", "text", "hitBreakpointIds", "allThreadsStopped", "description"],
    "continued": ["threadId", "allThreadsContinued"],
    "thread": ["threadId", "reason"],
    "output": ["category", "output", "source", "line", "data"],
    "module": ["module", "reason"],
    "process": ["name", "systemProcessId"],
    "exited": ["exitCode"],
    "breakpoint": ["breakpoint", "reason"],
    "capabilities": ["capabilities"],
    "debugpySockets": ["sockets"],
}


async def test_events_of_any_type(scene: Scene) -> None:
    """Every field of every event with a value of every kind; and bodies that are none."""
    sound = {"threadId": 1, "reason": "breakpoint", "category": "stdout", "output": "x"}
    events: list[tuple[str, Any]] = []
    for name, fields in FIELDS.items():
        events += [(name, junk) for junk in JUNK]
        events += [(name, {**sound, field: junk}) for field in fields for junk in JUNK]
        events += [
            (name, b'{"threadId": %d}' % 2**70),
            (name, b'{"threadId": 1e400}'),
            (name, b'{"output": "\\ud800"}'),
        ]
    events += [("", {}), ("_on_stopped", sound), ("event", sound), ("x" * 100_000, {}), ("nie gehört", {"a": 1})]
    events += [("output", {"category": "stdout", "output": "that was all\n"})]
    async with scene.beside(then(*events)) as outcome:
        assert isinstance(outcome, DebugSession)
        await _said(scene, "that was all")
        msgspec.msgpack.encode(scene.hub.rows[BAD])
        assert scene.hub.rows[BAD].state in ("stopped", "running")


async def _said(scene: Scene, text: str, timeout: float = 60) -> None:
    session = scene.hub.broker.sessions[BAD]
    await until(lambda: any(text in entry.text for entry in session.console.since(0, 10**6)), timeout, text)


WRONG = [b"null", b"[]", b"7", b'"x"', b"{}", b'{"stackFrames": 7}', b'{"stackFrames": [7]}']
WRONG += [b'{"stackFrames": [{"id": "x"}]}', b'{"stackFrames": [{"id": %d}]}' % 2**70, b'{"threads": [{"id": "x"}]}']
WRONG += [b'{"result": 7}', b'{"result": "no JSON"}', b'{"result": "[]"}', b'{"breakpoints": [{"verified": 7}]}']
WRONG += [b'{"targets": [{}]}', b'{"result": "{\\"ok\\": true, \\"value\\": {\\"variables\\": 7}}"}']
WRONG += [b'{"result": "{\\"ok\\": true, \\"value\\": {\\"task_id\\": 7, \\"frames\\": [7]}}"}']


async def test_answers_of_any_type(scene: Scene) -> None:
    """To every command: an error that says so, or what could be made of it."""
    commands: list[tuple[str, dict[str, Any]]] = [
        ("look", {"threadId": 1}),
        ("stackTrace", {"threadId": 1, "startFrame": 5}),
        ("scopes", {"frameId": 1}),
        ("evaluate", {"expression": "x"}),
        ("evaluate", {"expression": "x", "frameId": 1}),
        ("setVariable", {"frameId": 1, "evaluateName": "x", "value": "1"}),
        ("completions", {"text": "a", "column": 1}),
        ("exceptionInfo", {"threadId": 1}),
        ("stepInTargets", {"frameId": 1}),
        ("setBreakpoints", {"path": "/a.py", "breakpoints": [{"line": 1}]}),
        ("setFunctionBreakpoints", {"names": ["f"]}),
        ("setExceptionBreakpoints", {"filters": []}),
        ("modules", {}),
        ("source", {"path": "/a.py"}),
        ("asyncTasks", {}),
        ("goto", {"threadId": 1, "path": "/a.py", "line": 1}),
        ("runTo", {"threadId": 1, "path": "/a.py", "line": 1}),
        ("next", {"threadId": 1}),
        ("pause", {}),
        ("continue", {"threadId": 1}),
        ("console", {}),
        ("messages", {}),
    ]
    adapters: list[Adapter] = []

    async def behave(adapter: Adapter) -> None:
        adapters.append(adapter)
        await adapter.serve(until="configurationDone")
        adapter.event("stopped", {"threadId": 1, "reason": "breakpoint"})
        await adapter.serve()

    async with scene.beside(behave) as outcome:
        assert isinstance(outcome, DebugSession)
        session = scene.hub.broker.sessions[BAD]
        await scene.hub.stopped(BAD)
        sound = adapters[0].answers
        for wrong in WRONG:
            adapters[0].answers = dict.fromkeys((*sound, "setBreakpoints", "gotoTargets", "completions"), wrong)
            for command, arguments in commands:
                code = "done"
                try:
                    msgspec.msgpack.encode(await asyncio.wait_for(scene.hub(BAD, command, **arguments), 15))
                except AccessError as error:
                    code = error.body.code
                assert code in ("done", "failed", "running", "gone", "busy"), (command, wrong)
                msgspec.msgpack.encode(scene.hub.rows[BAD])
        adapters[0].answers = sound
        assert session.channel is not None
        await scene.good_goes_on()


async def test_responses_that_nobody_asked_for(scene: Scene) -> None:
    async def behave(adapter: Adapter) -> None:
        await adapter.serve(until="configurationDone")
        for number in [0, -1, 2**62, *range(100_000, 110_000)]:
            adapter.frame(b'{"seq":1,"type":"response","request_seq":%d,"success":true,"command":"evaluate"}' % number)
        for command in ("runInTerminal", "startDebugging", "x" * 100_000, ""):
            adapter.frame(json.dumps({"seq": 5, "type": "request", "command": command, "arguments": {}}).encode())
        adapter.event("output", {"output": "after all that", "category": "stdout"})
        await adapter.serve()

    async with scene.beside(behave):
        await _said(scene, "after all that")


async def test_an_adapter_that_asks_and_never_reads(scene: Scene) -> None:
    """Refusals of its requests would pile up in the keeper."""

    async def behave(adapter: Adapter) -> None:
        await adapter.serve(until="configurationDone")
        adapter.writer.transport.pause_reading()  # type: ignore[attr-defined]
        one = json.dumps({"seq": 5, "type": "request", "command": "startDebugging"}).encode()
        block = (b"Content-Length: %d\r\n\r\n%b" % (len(one), one)) * 1000
        for _ in range(2000):
            adapter.raw(block)
            await adapter.drain()
        await asyncio.sleep(60)

    async with scene.beside(behave):
        row = await scene.hub.state(BAD, "ended", timeout=60)
        assert "doesn't read" in (row.note or "")


@pytest.mark.usefixtures("soon")
async def test_answers_that_never_come(scene: Scene) -> None:
    silent: dict[str, bytes | None] = dict.fromkeys(("stackTrace", "threads", "evaluate", "setBreakpoints"))
    silent |= {"setFunctionBreakpoints": None, "completions": None, "disconnect": None}
    async with scene.beside(then(("stopped", {"threadId": 1, "reason": "step"}), answers=silent)):
        asking = [
            scene.hub(BAD, "setFunctionBreakpoints", names=["f"]),
            scene.hub(BAD, "modules"),
            scene.hub(BAD, "completions", text="a", column=1),
            *(scene.hub(BAD, "evaluate", expression=str(number)) for number in range(80)),
        ]
        began = time.monotonic()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        assert time.monotonic() - began < 20
        assert [one.body.code for one in answers if isinstance(one, AccessError)] == ["busy"] * len(asking)
        await scene.good_goes_on()


async def test_a_flood_of_output(scene: Scene) -> None:
    """100,000 lines and, as fast as they go, 60 MB in events of 3 MB; the keeper stays small and the hub answers."""

    async def behave(adapter: Adapter) -> None:
        await adapter.serve(until="configurationDone")
        for number in range(100_000):
            adapter.event("output", {"category": "stdout", "output": f"line {number}\n"})
            if number % 1000 == 0:
                await adapter.drain()
        for _ in range(20):
            adapter.event("output", {"category": "stderr", "output": "y" * (3 << 20)})
            await adapter.drain()
        adapter.event("stopped", {"threadId": 1, "reason": "breakpoint"})
        await adapter.serve()

    async with scene.beside(behave):
        for _ in range(5):
            await scene.good_goes_on()
        await scene.hub.stopped(BAD, timeout=90)
        session = scene.hub.broker.sessions[BAD]
        assert sum(len(entry.text) for entry in session.console.since(0, 10**6)) <= session_module.CONSOLE_CHARS
        print(f"published {scene.hub.published} times, keeper {scene.most >> 20} MB")


async def test_floods_of_everything_else(scene: Scene) -> None:
    async def behave(adapter: Adapter) -> None:
        await adapter.serve(until="configurationDone")
        adapter.answers |= {"stackTrace": None, "threads": None}
        for number in range(20_000):
            adapter.event("thread", {"threadId": number, "reason": "started"})
            adapter.event("stopped", {"threadId": number % 10, "reason": "x" * 100})
            adapter.event("continued", {"threadId": number % 7, "allThreadsContinued": number % 50 == 0})
            adapter.event("module", {"module": {"name": "m" * 100}})
            if number % 200 == 0:
                await adapter.drain()
        adapter.event("thread", {"threadId": 0, "reason": "exited"})
        await adapter.serve()

    async with scene.beside(behave):
        await scene.good_goes_on(20)
        session = scene.hub.broker.sessions[BAD]
        await until(lambda: len(session.threads) == session_module.MOST_THREADS - 1, 120, "the last event")
        assert len(scene.hub.rows[BAD].threads) <= session_module.MOST_THREADS


async def test_the_longest_that_debugpy_may_say(scene: Scene) -> None:
    """Just under its limit it gets through, just over it ends this session alone."""
    async with scene.beside(then(("output", {"category": "stdout", "output": "z" * ((16 << 20) - 500)}))):
        await _said(scene, "zzz")
        assert scene.hub.rows[BAD].state == "running"
    async with scene.beside(then(("output", {"category": "stdout", "output": "z" * (16 << 20)}))):
        row = await scene.hub.state(BAD, "ended")
        assert "at most" in (row.note or "")


async def test_many_sessions_that_said_much_are_handed_over(scene: Scene, tmp_path: Path) -> None:
    """What 24 sessions kept while there was no hub is more than one message holds."""
    release = asyncio.Event()

    async def behave(adapter: Adapter) -> None:
        await adapter.serve(until="configurationDone")
        serving = asyncio.ensure_future(adapter.serve())
        await release.wait()
        for _ in range(16):
            adapter.event("module", {"module": {"name": "m" * (100 << 10)}})
        adapter.event("stopped", {"threadId": 1, "reason": "breakpoint"})
        await serving

    names = [f"{number:02x}" * 28 for number in range(24)]
    async with hostile(behave) as port:
        scene.hub.targets |= dict.fromkeys(names, port)
        await asyncio.gather(*(scene.hub(name, "attach") for name in names))
        await asyncio.sleep(0.5)
        await scene.hub.broker.close()
        release.set()
        await asyncio.sleep(2)
        async with desk(tmp_path / "second", scene.node, {}) as second:
            for name in (*names, GOOD):
                await second.stopped(name, timeout=60)


async def test_real_output_in_a_flood(scene: Scene) -> None:
    """Real debugpy, printing as fast as it can and more than its own limit in one piece: it isn't held up for ever."""
    async with debuggee() as (child, port):
        scene.hub.targets[BAD] = port
        await scene.hub(BAD, "attach")
        await scene.hub.stopped(BAD)
        child.tell("flood 30000")
        await child.hear("done", "flood", timeout=60)
        await scene.good_goes_on()
        child.tell("long 5000000")
        await child.hear("done", "long", timeout=60)
        await _said(scene, "more characters")
        await scene.good_goes_on()
        await scene.hub(BAD, "detach")
        await child.hear("went_on", 1)
