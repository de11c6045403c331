"""The probe inside a real debuggee, through a real debugpy."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from raydebug import probe
from tests.support.dap_client import DapClient

pytest.importorskip("debugpy")
HERE = Path(__file__).parent
CHILD = HERE / "probe_child.py"
CRASHING = HERE / "postmortem_debugpy.py"
MONITORING = sys.version_info >= (3, 12)

ROOT = Path(__file__).parents[2]


class ProbeError(Exception):
    pass


class Debuggee:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.client: DapClient

    async def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), 60)
        found: dict[str, Any] = json.loads(line)
        return found

    async def evaluate(self, expression: str, frame: int | None = None) -> str:
        at = {} if frame is None else {"frameId": frame}
        body = await self.client.request("evaluate", expression=expression, context="clipboard", **at)
        return str(body["result"])

    async def call(self, function: str, at: int | None = None, /, **arguments: Any) -> Any:
        """``at``: evaluated in that frame, so on the stopped thread; else on debugpy's command thread."""
        answer = json.loads(await self.evaluate(probe.call(function, **arguments), at))
        if not answer["ok"]:
            raise ProbeError(answer["error"])
        return answer["value"]


Kind = TypeVar("Kind", bound=Debuggee)


def debuggee(script: Path) -> AbstractAsyncContextManager[Debuggee]:
    return debuggee_of(Debuggee, script)


@asynccontextmanager
async def debuggee_of(kind: type[Kind], script: Path) -> AsyncIterator[Kind]:
    command = [sys.executable, "-Xfrozen_modules=off", str(script)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, limit=1 << 24, env=env)
    found = kind(process)
    try:
        yield found
    finally:
        if hasattr(found, "client"):
            await found.client.close()
        if process.returncode is None:
            process.kill()
        await process.communicate()


def ratios(now: dict[str, Any], before: dict[str, Any]) -> dict[str, float]:
    found = {thread: round(now["speed"][thread] / before["speed"][thread], 2) for thread in before["speed"]}
    print(f"{now['when']}: x {found}")
    return found


async def test_in_a_stopped_worker() -> None:
    async with debuggee(CHILD) as child:
        before = await child.said()
        child.client = await DapClient.connect("127.0.0.1", (await child.said())["port"])
        await child.client.attach()
        thread, top = await child.client.stopped()
        frame = top["id"]

        # Not there, there, there already.
        with pytest.raises(ProbeError, match="NotInstalledError"):
            await child.call("state")
        assert await child.evaluate(probe.bootstrap()) == "True"
        assert await child.evaluate(probe.bootstrap(), frame) == "False"

        await round_trips(child, frame)
        await values_of(child, frame)

        # As Ray leaves it, then freed; breakpoint() stops all the same.
        await child.client.request("continue", threadId=thread)
        slow = ratios(await child.said(), before)
        thread, top = await child.client.stopped()
        state = await child.call("state")
        assert state["by"] == ("monitoring" if MONITORING else "settrace")
        if not MONITORING:
            assert {"MainThread", "old", "pool_0"} <= set(state["threads"])
            assert min(slow.values()) > 1
        await child.call("free_this_thread", top["id"])
        await child.call("free_all")
        await child.client.request("continue", threadId=thread)
        assert max(ratios(await child.said(), before).values()) < 3
        thread, top = await child.client.stopped()
        assert top["name"] == "main"
        if not MONITORING:
            # The stop itself traced this thread anew; the others stay free.
            assert (await child.call("state"))["threads"] == ["MainThread"]

        await breakpoints_hit(child, thread)


async def test_a_client_that_dies_leaves_no_trace() -> None:
    async with debuggee(CHILD) as child:
        before = await child.said()
        child.client = await DapClient.connect("127.0.0.1", (await child.said())["port"])
        await child.client.attach()
        _, top = await child.client.stopped()
        await child.evaluate(probe.bootstrap())
        await child.call("hello")
        await child.call("scope", top["id"], frame=top["id"])
        await child.client.close()
        assert max(ratios(await child.said(), before).values()) < 3


async def round_trips(child: Debuggee, frame: int) -> None:
    assert await child.call("nodelay") is True
    took = []
    for _ in range(20):
        start = time.perf_counter()
        await child.call("forget", frame)
        took.append(time.perf_counter() - start)
    print(f"a round trip: {min(took) * 1000:.1f} ms")
    # The delayed acknowledgement that it waited for takes 40.
    assert min(took) < 0.02


async def values_of(child: Debuggee, frame: int) -> None:
    page = await child.call("scope", frame, frame=frame)
    local = {variable["name"]: variable for variable in page["variables"]}
    assert page["total"] == len(local)
    assert local["numbers"]["summary"] == {"kind": "list", "length": 50_000, "clipped": 49_900}
    assert local["numbers"]["indexedVariables"] == 50_000
    assert local["text"]["summary"]["clipped"] == 199_000
    assert local["nested"]["value"].startswith("{'a': [1, {'b': 2}], 'numbers': [0, 1, 2")

    # Untruncated: the longest page of characters that JSON writes with six.
    numbers = local["numbers"]["variablesReference"]
    children = await child.call("children", frame, reference=numbers, start=49_000, count=1000)
    assert [v["value"] for v in children["variables"]] == [str(n) for n in range(49_000, 50_000)]
    assert len(json.dumps(children)) > 100_000
    source = await child.call("read", path=str(CHILD))
    assert source["text"] == CHILD.read_text()
    assert not source["changed"]
    assert len(await child.evaluate(probe.call("modules", limit=2000))) > 10_000
    # Without a frame: on the command thread, to the same frame, and the handles are the stopped thread's.
    globals_ = await child.call("scope", frame=frame, which="globals")
    assert "marked" in {variable["name"] for variable in globals_["variables"]}
    long = await child.call("evaluate", frame, frame=frame, expression="text * 3")
    assert long["summary"]["length"] == 600_000

    assert (await child.call("evaluate", frame, frame=frame, expression="numbers[7] + 1"))["result"] == "8"
    await child.call("evaluate", frame, frame=frame, expression="numbers = numbers[:10]")
    assert (await child.call("evaluate", frame, frame=frame, expression="len(numbers)"))["result"] == "10"
    with pytest.raises(ProbeError, match="NameError"):
        await child.call("evaluate", frame, frame=frame, expression="no_such_name")
    with pytest.raises(ProbeError, match="SystemExit"):
        await child.call("evaluate", frame, frame=frame, expression="raise SystemExit(3)")
    assert await child.call("forget", frame, thread="this") > 3
    assert await child.call("forget") == 0
    with pytest.raises(ProbeError, match="gone"):
        await child.call("children", frame, reference=numbers)


async def breakpoints_hit(child: Debuggee, thread: int) -> None:
    """In all four kinds of threads, once armed."""
    await child.call("arm")
    line = next(n for n, text in enumerate(CHILD.read_text().splitlines(), 1) if "a breakpoint is set here" in text)
    source = {"path": str(CHILD)}
    await child.client.request("setBreakpoints", source=source, breakpoints=[{"line": line}])
    stops = []
    for _ in range(4):
        await child.client.request("continue", threadId=thread)
        thread, top = await child.client.stopped()
        stops.append((top["name"].rpartition(".")[2], top["line"]))
    assert stops == [("marked", line)] * 4
    await child.client.request("setBreakpoints", source=source, breakpoints=[])
    await child.client.request("continue", threadId=thread)
    assert set((await child.said())["marked"].values()) == {42}
    thread, top = await child.client.stopped()
    await child.call("free_this_thread", top["id"])
    await child.call("free_all")
    await child.client.request("continue", threadId=thread)
    assert (await child.said())["when"] == "freed again"
    assert (await child.said())["ended"] == [10, 200_000, 2]


async def test_the_true_stack_of_an_exception_and_the_tasks_of_a_loop() -> None:
    async with debuggee(CRASHING) as child:
        child.client = await DapClient.connect("127.0.0.1", (await child.said())["port"])
        await child.client.attach(filters=["uncaught"])
        thread, top = await child.client.stopped()
        await child.evaluate(probe.bootstrap())
        found = await child.call("exception", top["id"])
        assert (found["type"], found["message"]) == ("RuntimeError", "bad batch")
        assert found["cause"] == "IndexError: list index out of range"
        assert [frame["name"] for frame in found["frames"]] == ["crash"]
        assert "items[secret]" in found["traceback"]

        # The frames of a traceback can be looked at and evaluated in.
        at = found["frames"][0]
        assert (at["path"], at["rebuilt"]) == (str(CRASHING), True)
        names = {v["name"] for v in (await child.call("scope", top["id"], frame=at["id"]))["variables"]}
        assert "debugpy" in names
        evaluated = await child.call("evaluate", top["id"], frame=at["id"], expression="outer.__name__")
        assert evaluated["result"] == "'outer'"
        await child.call("forget", thread="this")
        await child.call("forget", thread=thread)
        await child.client.request("continue", threadId=thread)

        thread, top = await child.client.stopped()
        assert top["name"].endswith("stops")
        tasks = (await child.call("async_tasks", top["id"]))["tasks"]
        stated = [(task["name"], task["coroutine"], task["state"]) for task in tasks]
        assert stated[0] == ("stopping", "stops", "current")
        assert stated.count(("patient", "waits", "waiting")) == 3
        lines = CRASHING.read_text().splitlines()
        assert {lines[task["line"] - 1].strip() for task in tasks if task["name"] == "patient"} == {
            "await event.wait()"
        }
        await child.client.request("continue", threadId=thread)
        assert (await child.said())["ended"]
