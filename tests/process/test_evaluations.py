"""What an evaluation may meet, through a real debugpy: breakpoints, of code and of lines; it leaves the thread where it
was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from raydebug import probe
from raydebug.hub.debugger.attaching import ATTACH
from tests.process.test_probe import Debuggee, ProbeError, debuggee_of
from tests.support.api import line_of
from tests.support.dap_client import DapClient

HERE = Path(__file__).parent
CHILD = HERE / "evaluations_child.py"


class Stopped(Debuggee):
    """In ``work``."""

    thread: int
    frame: int
    line: int

    async def stops(self) -> None:
        self.thread, top = await self.client.stopped()
        self.frame, self.line = top["id"], top["line"]

    async def run(self, expression: str) -> dict[str, Any]:
        """In the stopped frame, as a console does."""
        told: dict[str, Any] = await self.call("evaluate", self.frame, frame=self.frame, expression=expression)
        return told

    async def value(self, expression: str) -> str:
        return str((await self.run(expression))["result"])

    async def stands(self) -> None:
        """Nothing has gone on or stopped since, and it is where it was."""
        await self.call("state")
        frames = await self.client.request("stackTrace", threadId=self.thread, levels=1)
        assert frames["stackFrames"][0]["line"] == self.line
        assert not [event for event in self.client._unread if event["event"] in ("stopped", "continued")]

    async def steps(self) -> None:
        """To the next line, no other."""
        before = self.line
        await self.client.request("next", threadId=self.thread)
        await self.stops()
        assert self.line == before + 1

    async def go_on(self) -> None:
        await self.client.request("continue", threadId=self.thread)
        await self.client.wait("continued")


@pytest.fixture
async def child() -> AsyncIterator[Stopped]:
    async with debuggee_of(Stopped, CHILD) as started:
        started.client = await DapClient.connect("127.0.0.1", (await started.said())["port"])
        await started.client.attach(**{name: ATTACH[name] for name in ATTACH if name != "redirectOutput"})
        await started.stops()
        await started.evaluate(probe.bootstrap())
        yield started


@pytest.mark.parametrize(
    ("expression", "gives"),
    [
        ("has_breakpoint()", "21"),
        ("has_debugpys()", "22"),
        ("has_pdbs()", "23"),
        ("exec('breakpoint()')", ""),
        ("breakpoint()", ""),
        ("__import__('pydevd').settrace()", ""),
        ("[shy, 1]", "[shy, 1]"),
        ("await has_one_and_awaits()", "24"),
        ("for i in range(3): has_breakpoint()", ""),
    ],
)
async def test_an_evaluation_passes_breakpoints_and_the_thread_stays(
    child: Stopped, expression: str, gives: str
) -> None:
    told = await child.run(expression)
    assert told["result"] == gives
    assert "breakpoint() met during evaluation; skipped" in told["note"]
    if "has_breakpoint" in expression:
        assert f"{CHILD}:{line_of(CHILD, 'its own')}" in told["note"]
    await child.stands()
    await child.steps()
    assert "note" not in await child.run("1 + 1")
    # The program's own stops it still.
    await child.go_on()
    assert (await child.said())["steps"] == [1, 2, 3]
    await child.stops()
    assert child.line == line_of(CHILD, "again")
    await child.steps()


async def test_one_that_raises_or_looks_leaves_the_thread_too(child: Stopped) -> None:
    with pytest.raises(ProbeError, match="ZeroDivisionError"):
        await child.run("has_breakpoint() / 0")
    page = await child.call("scope", child.frame, frame=child.frame)
    assert "shy" in {one["name"]: one["value"] for one in page["variables"]}["shy"]
    await child.stands()
    await child.steps()


async def test_other_threads_stop_while_one_evaluates(child: Stopped) -> None:
    text = probe.call("evaluate", frame=child.frame, expression="hold.wait() and has_breakpoint()")
    held = asyncio.ensure_future(child.evaluate(text, child.frame))
    await child.call("evaluate", expression="__import__('__main__').go.set()")
    other, top = await child.client.stopped()
    assert other != child.thread
    assert (top["name"].rpartition(".")[2], top["line"]) in [
        ("beside", line_of(CHILD, "beside")),
        ("beside", line_of(CHILD, "beside") + 1),
    ]
    # It evaluates, too, and meets the first one's: each has its own.
    told = await child.call("evaluate", top["id"], frame=top["id"], expression="has_breakpoint()")
    assert (told["result"], "skipped" in told["note"]) == ("21", True)
    assert not held.done()
    await child.call("evaluate", expression="__import__('__main__').hold.set()")
    told = json.loads(await asyncio.wait_for(held, 30))["value"]
    assert (told["result"], "skipped" in told["note"]) == ("21", True)
    await child.stands()


async def test_nothing_of_it_is_left(child: Stopped) -> None:
    names = (
        "__import__('pydevd').settrace, __import__('bdb').Bdb.set_trace, breakpoint, __import__('sys').breakpointhook"
    )
    ids = f"[(id(f), getattr(f, '__qualname__', '')) for i in [__import__] for f in ({names})]"
    before = await child.evaluate(ids, child.frame)
    assert "settrace" in before
    await child.run("has_breakpoint()")
    with pytest.raises(ProbeError):
        await child.run("[has_breakpoint(), 1 / 0]")
    assert await child.evaluate(ids, child.frame) == before
    assert "door" in await child.value(ids), "while it evaluates"


async def test_beside_the_running_program(child: Stopped) -> None:
    told = await child.call("start", expression="has_breakpoint()", wait_s=20)
    assert (told["value"]["result"], "skipped" in told["value"]["note"]) == ("21", True)
    # On debugpy's own thread.
    told = await child.call("evaluate", expression="__import__('__main__').has_breakpoint()")
    assert (told["result"], "skipped" in told["note"]) == ("21", True)
    await child.stands()


async def test_a_line_breakpoint_in_evaluated_code_is_passed(child: Stopped) -> None:
    line = line_of(CHILD, "a breakpoint is set here")
    made = await child.client.request("setBreakpoints", source={"path": str(CHILD)}, breakpoints=[{"line": line}])
    assert made["breakpoints"][0]["verified"]
    assert await child.value("marked()") == "42"
    await child.stands()
    told = await child.call("start", expression="marked()", wait_s=20)
    assert told["value"]["result"] == "42"
    await child.stands()
    # At an exception it isn't the tracer that stands.
    await child.client.request("setExceptionBreakpoints", filters=["uncaught"])
    await child.go_on()
    await child.stops()
    await child.go_on()
    thread = (await child.client.wait("stopped"))["threadId"]
    frames = (await child.client.request("stackTrace", threadId=thread, levels=20))["stackFrames"]
    told = await child.call("evaluate", frames[0]["id"], frame=frames[-1]["id"], expression="marked()")
    assert told["result"] == "42"
    told = await child.call("evaluate", frames[0]["id"], frame=frames[-1]["id"], expression="has_breakpoint()")
    assert (told["result"], "skipped" in told["note"]) == ("21", True)
    await child.client.request("continue", threadId=thread)
    while "ended" not in (said := await child.said()):
        assert "worked" in said or "steps" in said
