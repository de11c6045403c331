"""What is done in the console holds in the frame, through a real debugpy, on every Python."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from raydebug import probe
from tests.process.test_evaluations import Stopped
from tests.process.test_probe import ProbeError, debuggee_of
from tests.support.dap_client import DapClient

CHILD = Path(__file__).parent / "console_child.py"
DELETES = sys.version_info < (3, 12)


@pytest.fixture
async def child() -> AsyncIterator[Stopped]:
    async with debuggee_of(Stopped, CHILD) as started:
        started.client = await DapClient.connect("127.0.0.1", (await started.said())["port"])
        await started.client.attach()
        await started.stops()
        await started.evaluate(probe.bootstrap())
        yield started


async def test_what_holds(child: Stopped) -> None:
    for statement, expression, value in [
        ("text = 'new'", "text", "'new'"),
        ("number += 41", "number", "42"),
        ("(kept := 'walrus')", "kept", "'walrus'"),
        ("for walked in range(3): pass", "walked", "2"),
        ("for fresh in 'ab': last = fresh", "fresh + last", "'bb'"),
        ("import json as j, math", "j.dumps([math.floor(1.5)])", "'[1]'"),
        ("def twice(x):\n    return 2 * x + number", "twice(4)", "50"),
        ("class C:\n    a = 7", "C().a", "7"),
        ("COUNTER = 5", "COUNTER", "5"),
        ("global made; made = 1", "made", "1"),
        ("one, *two = 1, 2, 3; two", "two", "[2, 3]"),
        ("cell = 'changed'", "closes()", "'changed'"),
        ("with open('/dev/null') as file: pass", "file.closed", "True"),
        ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    message = str(e)", "message", "'division by zero'"),
        ("import asyncio\nawaited = await asyncio.sleep(0, 3)", "awaited", "3"),
        ("[y := 2, y + 1]", "y", "2"),
    ]:
        await child.run(statement)
        assert await child.value(expression) == value, statement
    with pytest.raises(ProbeError, match="ZeroDivisionError"):
        await child.run("half = 1\nhalf / 0")
    assert await child.value("half") == "1", "what was done before the error"
    await child.go_on()
    said = await child.said()
    assert (said["text"], said["number"], said["kept"], said["walked"]) == ("new", 42, "walrus", 2)
    assert (said["closed"], said["counter"], said["there"]) == ("changed", 5, "gone")


async def test_what_is_deleted_is_gone_or_it_is_said_that_it_can_not_be(child: Stopped) -> None:
    await child.run("extra = 1")
    for name in ("gone", "cell", "extra"):
        if DELETES:
            await child.run(f"del {name}")
            with pytest.raises(ProbeError, match="NameError"):
                await child.run(name)
        else:
            try:
                await child.run(f"kept = 'in the same breath'; del {name}")
            except ProbeError as error:
                assert f"{name} can't be deleted" in str(error)  # noqa: PT017
                assert await child.value(name) in ("'gone'", "'cell'", "1"), "as it was"
            else:
                assert name == "extra"
                with pytest.raises(ProbeError, match="NameError"):
                    await child.run(name)
    assert await child.value("text") == "'text'"
    await child.run("del text; text = 'again'")
    page = await child.call("scope", child.frame, frame=child.frame)
    names = {one["name"] for one in page["variables"]}
    assert {"text", "number", "kept"} <= names
    assert ("gone" in names) is not DELETES
    await child.go_on()
    said = await child.said()
    assert said["there"] == ("deleted" if DELETES else "gone")
    assert said["closed"] == ("deleted" if DELETES else "cell")
    assert (said["text"], said["number"], said["walked"]) == ("again", 1, "walked")


async def test_in_generators_coroutines_and_outer_frames(child: Stopped) -> None:
    await child.go_on()
    await child.said()
    await child.stops()
    await child.run("number = 7")
    await child.go_on()
    await child.stops()
    await child.run("word += 's'")
    frames = (await child.client.request("stackTrace", threadId=child.thread, levels=50))["stackFrames"]
    module = next(frame["id"] for frame in frames if frame["name"] == "<module>")
    await child.call("evaluate", child.frame, frame=module, expression="COUNTER = 9; del work; new = 1")
    assert (await child.call("evaluate", child.frame, frame=module, expression="new"))["result"] == "1"
    assert await child.value("COUNTER, new, 'work' in globals()") == "(9, 1, False)"
    await child.go_on()
    assert await child.said() == {"generated": ["7"], "awaited": "words"}
    await child.stops()
    await child.run("module = [module]")
    await child.go_on()
    assert await child.said() == {"module": ["module"], "ended": True}
