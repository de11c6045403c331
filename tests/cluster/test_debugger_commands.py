"""What is asked of a debugged worker: breakpoints of every kind, steps, values, sources; who may ask, and who asked."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import click.termui
import msgspec
import pytest

from raydebug.api.access import GrantMade
from raydebug.api.debug import DebugThread
from raydebug.cli.live import Live, LiveError
from tests.support import api
from tests.support.cluster import RayCluster
from tests.support.debugging import (
    PATIENCE,
    Debugged,
    at_breakpoint,
    attached,
    audit,
    debug_cluster,
    job,
    live,
    refused,
)

ROUNDS = Path(__file__).parent / "jobs" / "rounds.py"
GATE = at_breakpoint(ROUNDS, "gate")


def line(mark: str) -> int:
    return api.line_of(ROUNDS, mark)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster() as started, job(started, ROUNDS):
        yield started


@pytest.fixture
async def client(cluster: RayCluster) -> AsyncIterator[Live]:
    async with live(cluster) as connected:
        yield connected


class Gate(Debugged):
    """The actor's session, and its thread, which stands at the gate."""

    thread: DebugThread

    async def breakpoints(self, *wanted: dict[str, Any], path: str = str(ROUNDS)) -> list[dict[str, Any]]:
        told = await self("setBreakpoints", path=path, breakpoints=list(wanted))
        rows: list[dict[str, Any]] = told["breakpoints"]
        return rows

    async def arrive(self) -> None:
        """Nothing set, and the thread at the gate."""
        for path in {one.path for one in self.row.breakpoints}:
            await self.breakpoints(path=path)
        await self("setFunctionBreakpoints", names=[])
        await self("setExceptionBreakpoints", filters=[])
        while True:
            thread = await self.stopped(task=False)
            if thread.line in GATE:
                self.thread = thread
                return
            await self("continue", threadId=thread.threadId, all=True)
            await self.running(thread)

    async def on(self, mark: str | None = None, task: bool = True) -> DebugThread:
        """Leave the gate; the next stop."""
        return await self.go_on(self.thread, line=None if mark is None else line(mark), task=task)

    async def at_gate_again(self, thread: DebugThread) -> None:
        """Go on; nothing stops before the gate."""
        again = await self.go_on(thread)
        assert again.line in GATE


@pytest.fixture
async def gate(client: Live) -> Gate:
    found = next((row.worker_id for row in client.tables["sessions"].values() if row.state == "stopped"), None)
    if found is None:
        found = (await attached(client, ROUNDS, "gate"))[0].worker_id
    session = Gate(client, found)
    await session.arrive()
    return session


async def test_conditions_and_hit_counts(gate: Gate) -> None:
    (row,) = await gate.breakpoints({"line": line("loop"), "condition": "i == 7"})
    assert (row["verified"], row["line"], row["hits"]) == (True, line("loop"), 0)
    thread = await gate.on("loop")
    assert (await gate.look(thread))[1]["i"] == "7"
    await gate.until(lambda row: [one.hits for one in row.breakpoints] == [1])
    await gate.at_gate_again(thread)
    await gate.breakpoints({"line": line("loop"), "hitCondition": "3"})
    thread = await gate.on("loop")
    assert (await gate.look(thread))[1]["i"] == "2"


async def test_breakpoints_that_can_not_be_are_said_so_and_not_set(gate: Gate, tmp_path: Path) -> None:
    length = len(ROUNDS.read_text().splitlines())
    rows = await gate.breakpoints(
        {"line": line("loop"), "condition": "i =="},
        {"line": line("loop"), "hitCondition": "often"},
        {"line": line("loop"), "logMessage": "i is {i"},
        {"line": length + 1},
        {"line": line("last"), "condition": "total == 91"},
    )
    assert [row["verified"] for row in rows] == [False] * 4 + [True]
    assert "isn't a Python expression" in rows[0]["message"]
    assert "a number was expected" in rows[1]["message"]
    assert "isn't closed" in rows[2]["message"]
    assert rows[3]["message"] == f"The file has {length} lines."
    # They neither stop nor log, and don't keep the good one from it.
    thread = await gate.on("last")
    await gate.breakpoints({"line": line("loop"), "condition": "i =="})
    await gate.at_gate_again(thread)
    await gate.breakpoints()

    text, wrong = tmp_path / "notes.txt", tmp_path / "wrong.py"
    text.write_text("one\ntwo\n")
    wrong.write_text("def f(:\n")
    for path, says in [
        (text, "isn't a Python source"),
        (wrong, "it can't be compiled"),
        (tmp_path / "gone.py", "no such file where the worker runs"),
        (tmp_path, "no such file where the worker runs"),
    ]:
        (row,) = await gate.breakpoints({"line": 1}, path=str(path))
        assert (row["verified"], says in row["message"]) == (False, True), row
        await gate.breakpoints(path=str(path))
    with pytest.raises(LiveError, match=f"The file has {length} lines"):
        await gate("runTo", threadId=gate.thread.threadId, path=str(ROUNDS), line=length + 1)
    assert await gate.value("6 * 7", (await gate.look(gate.thread))[0]) == "42"


async def test_counts_and_messages_mean_what_they_say(gate: Gate) -> None:
    since = gate.row.console_end
    await gate.breakpoints(
        {"line": line("loop"), "logMessage": "{i}, {total} is {i * 10}% of it"},
        {"line": line("call"), "hitCondition": "% 2 == 1"},
    )
    thread = await gate.on("call")
    await gate.says("log", "9, 36 is 90% of it", since)
    await gate.at_gate_again(thread)
    await gate.arrive()
    # The second comes and goes.
    again = await gate.on()
    assert again.line in GATE


async def test_a_breakpoint_that_an_evaluation_meets_is_skipped(gate: Gate) -> None:
    since, stop, stands = gate.row.console_end, gate.last_stop, gate.thread.line
    frame_id, _ = await gate.look(gate.thread)
    for expression in ("exec('breakpoint()')", "__import__('ray').util.pdb.set_trace()", "breakpoint()"):
        assert await gate.value(expression, frame_id, "repl") == ""
        await gate.says("note", "breakpoint() met during evaluation; skipped", since)
        since = gate.row.console_end
    frames = (await gate("stackTrace", threadId=gate.thread.threadId))["stackFrames"]
    assert (gate.last_stop, gate.row.state) == (stop, "stopped")
    assert next(one["line"] for one in frames if one["id"] == frame_id) == stands
    again = await gate.go_on(gate.thread)
    assert again.line in GATE


async def test_a_log_point_logs_and_does_not_stop(gate: Gate) -> None:
    since = gate.row.console_end
    await gate.breakpoints({"line": line("loop"), "logMessage": "i is {i}, and {total}"})
    thread = await gate.on()
    assert thread.line in GATE
    await gate.says("log", "i is 0, and 0", since)
    await gate.says("log", "i is 9, and 36", since)
    logged = [entry.text for entry in await gate.console(since) if entry.kind == "log"]
    assert "".join(logged).startswith("i is 0"), "without the mark it comes with"
    await gate.until(lambda row: [one.hits for one in row.breakpoints] == [10])


async def test_a_disabled_breakpoint_does_not_stop(gate: Gate) -> None:
    await gate.breakpoints({"line": line("loop"), "enabled": False}, {"line": line("last")})
    wanted = [(line("loop"), False, False), (line("last"), True, True)]
    await gate.until(lambda row: [(one.line, one.enabled, one.verified) for one in row.breakpoints] == wanted)
    await gate.on("last")


async def test_what_cannot_be_set_says_why(gate: Gate) -> None:
    (nowhere,) = await gate.breakpoints({"line": 1}, path="/nowhere/at/all.py")
    assert not nowhere["verified"]
    assert nowhere["message"]
    await gate.breakpoints(path="/nowhere/at/all.py")
    assert await refused(gate("setBreakpoints", path=str(ROUNDS), breakpoints=[{"line": 0}])) == "bad_query"


async def test_breakpoints_in_site_packages(gate: Gate) -> None:
    path = click.termui.__file__
    lines, first = inspect.getsourcelines(click.termui.unstyle)
    last = first + len(lines) - 1
    (row,) = await gate.breakpoints({"line": last}, path=path)
    assert row["verified"]
    thread = await gate.on()
    assert (thread.file, thread.line, thread.function) == (path, last, "unstyle")
    assert "plain" in (await gate.look(thread))[1]["text"]
    source = await gate("source", path=path)
    assert last in source["breakable"]
    assert source["text"] == inspect.getsource(click.termui)


async def test_function_breakpoints(gate: Gate) -> None:
    await gate("setFunctionBreakpoints", names=["inner"])
    thread = await gate.on()
    assert (thread.function, thread.file) == ("inner", str(ROUNDS))
    assert gate.row.functions == ["inner"]


async def test_raised_exceptions(gate: Gate) -> None:
    await gate("setExceptionBreakpoints", filters=["raised"])
    thread = await gate.on("raised")
    assert (thread.reason, thread.text) == ("exception", "KeyError")
    about = await gate("exceptionInfo", threadId=thread.threadId)
    assert (about["type"], about["message"]) == ("KeyError", "'caught'")
    assert "# raised" in about["traceback"]
    seen = await gate("look", threadId=thread.threadId)
    assert seen["exception"]["type"] == "KeyError"


async def test_exceptions_of_a_type(gate: Gate) -> None:
    await gate("setExceptionBreakpoints", filters=[], types=["KeyError"])
    thread = await gate.on("raised")
    assert (thread.reason, thread.text) == ("exception", "KeyError")
    assert gate.row.types == ["KeyError"]
    assert await refused(gate("setExceptionBreakpoints", filters=[], types=["not a name"])) == "bad_query"
    await gate("setExceptionBreakpoints", filters=[], types=["ZeroDivisionError"])
    await gate.at_gate_again(thread)


async def test_exceptions_that_escape_into_library_code(gate: Gate) -> None:
    await gate("setExceptionBreakpoints", filters=["userUnhandled"])
    thread = await gate.on("escapes", task=False)
    about = await gate("exceptionInfo", threadId=thread.threadId)
    assert (about["type"], about["message"]) == ("LookupError", "escapes")


async def test_uncaught_exceptions_of_threads(gate: Gate) -> None:
    """They are seen by tracing, which isn't on for them alone: it slows all. Here a breakpoint brings it."""
    await gate("setExceptionBreakpoints", filters=["uncaught"])
    await gate.breakpoints({"line": line("last"), "condition": "False"})
    thread = await gate.on("dies", task=False)
    assert thread.name == "dying"
    about = await gate("exceptionInfo", threadId=thread.threadId)
    assert (about["type"], about["message"]) == ("RuntimeError", "dies")


async def test_steps(gate: Gate) -> None:
    await gate.breakpoints({"line": line("call")})
    thread = await gate.on("call")
    frame_id, _ = await gate.look(thread)
    targets = (await gate("stepInTargets", frameId=frame_id))["targets"]
    assert [one["label"].partition("(")[0] for one in targets][:3] == ["inner", "len", "outer"]
    target = next(one["id"] for one in targets if one["label"].startswith("outer"))
    thread = await gate.step("stepIn", thread, targetId=target)
    assert thread.function == "outer"
    frame_id, values = await gate.look(thread)
    assert values["more"] == "1"
    assert (await gate("stepInTargets", frameId=frame_id))["targets"] == []
    thread = await gate.step("stepOut", thread)
    assert await refused(gate("stepInTargets", frameId=frame_id)) == "gone"
    assert await refused(gate("stepInTargets", frameId=2**40)) == "gone"
    assert (thread.function, thread.line) == ("round", line("call"))
    thread = await gate.step("next", thread)
    assert thread.line == line("call") + 1
    await gate("runTo", threadId=thread.threadId, path=str(ROUNDS), line=line("last"))
    thread = await gate.stopped(line("last"))
    assert [one.line for one in gate.row.breakpoints] == [line("call")], "the line that was run to isn't a breakpoint"
    await gate.breakpoints()
    assert await refused(gate("runTo", threadId=thread.threadId, path="/nowhere.py", line=1)) == "failed"


async def test_a_step_into_an_actors_own_method_arrives_there(gate: Gate) -> None:
    """Ray wraps each method of an actor's class for its tracing."""
    await gate.breakpoints({"line": line("after call")})
    thread = await gate.step("stepIn", await gate.on("after call"))
    assert (thread.function, thread.line) == ("caught", line("raised") - 1)
    await gate.breakpoints()


async def test_set_next_statement(gate: Gate) -> None:
    await gate.breakpoints({"line": line("first")})
    thread = await gate.on("first")
    before = gate.last_stop
    await gate("goto", threadId=thread.threadId, path=str(ROUNDS), line=line("last"))
    thread = await gate.stopped(line("last"), after=before)
    assert "table" not in (await gate.look(thread))[1], "the lines between didn't run"
    code = await refused(gate("goto", threadId=thread.threadId, path=str(ROUNDS), line=line("inner")))
    assert code == "failed"
    frame_id, _ = await gate.look(thread)
    await gate.value("total = 0", frame_id, "repl")
    await gate.at_gate_again(thread)


async def test_values_are_set(gate: Gate) -> None:
    await gate.breakpoints({"line": line("after call")})
    thread = await gate.on("after call")
    frame_id, _ = await gate.look(thread)
    since = gate.row.console_end
    for name, value in (("total", "100 + 1"), ("table['a']", "5"), ("self.value", "[1, 2]")):
        told = await gate("setVariable", frameId=frame_id, evaluateName=name, value=value)
        assert told["result"] == str(eval(value))
    assert await refused(gate("setVariable", frameId=frame_id, evaluateName="total", value="1; import os"))
    number = (await gate.look(thread))[1]["number"]
    await gate.at_gate_again(thread)
    await gate.says("stdout", f"round {number} total 101 5 [1, 2]", since)


async def test_completions_know_the_frame(gate: Gate) -> None:
    await gate.breakpoints({"line": line("inner")})
    thread = await gate.on("inner")
    frames = (await gate("stackTrace", threadId=thread.threadId))["stackFrames"]
    inside, outside = frames[0]["id"], next(one["id"] for one in frames if one["name"] == "round")

    async def completed(text: str, frame_id: int) -> list[str]:
        told = await gate("completions", text=text, column=len(text) + 1, frameId=frame_id)
        return [one["label"] for one in told["targets"]]

    assert "doubled" in await completed("doub", inside)
    assert "table" in await completed("tab", outside)
    assert "table" not in await completed("tab", inside)


async def test_modules_and_sources(gate: Gate) -> None:
    told = await gate("modules", text="click")
    assert {"name": "click.termui", "path": click.termui.__file__} in told["modules"]
    source = await gate("source", path=str(ROUNDS))
    assert source["text"] == ROUNDS.read_text()
    assert line("loop") in source["breakable"]
    assert not source["changed"]
    assert await refused(gate("source", path="/etc/passwd")) == "failed"
    assert await refused(gate("source", path=str(Path(__file__)))) == "failed"


async def test_a_tab_that_goes_away_changes_nothing(gate: Gate, cluster: RayCluster) -> None:
    await gate.breakpoints({"line": line("first")})
    thread = await gate.on("first")
    frame_id, _ = await gate.look(thread)
    since = gate.row.console_end
    async with live(cluster) as other:
        slow = "__import__('time').sleep(1) or 'slept'"
        asked = asyncio.ensure_future(
            other.debug(gate.worker_id, "evaluate", expression=slow, frameId=frame_id, context="repl")
        )
        await gate.until(lambda row: row.evaluations)
    await asyncio.gather(asked, return_exceptions=True)
    await gate.says("result", "slept", since)
    assert not gate.row.evaluations
    still = await gate.stopped()
    assert still.stop == thread.stop
    async with live(cluster) as other:
        end = gate.row.messages_end
        asked = asyncio.ensure_future(other.debug(gate.worker_id, "next", threadId=thread.threadId))
        await gate.until(lambda row: row.messages_end > end)
    await asyncio.gather(asked, return_exceptions=True)
    thread = await gate.stopped(line("first") + 1, after=thread.stop)
    wanted = [{"line": line("last")}]
    async with live(cluster) as other:
        end = gate.row.messages_end
        asked = asyncio.ensure_future(
            other.debug(gate.worker_id, "setBreakpoints", path=str(ROUNDS), breakpoints=wanted)
        )
        await gate.until(lambda row: row.messages_end > end)
    await asyncio.gather(asked, return_exceptions=True)
    await gate.until(lambda row: [(one.line, one.verified) for one in row.breakpoints] == [(line("last"), True)])
    await gate.go_on(thread, line=line("last"))


async def test_who_did_what_is_written_down(gate: Gate, cluster: RayCluster) -> None:
    frame_id, _ = await gate.look(gate.thread)
    await gate.value("number + 0", frame_id, "repl")
    await gate.breakpoints({"line": line("first"), "condition": "True"})
    thread = await gate.on("first")
    frame_id, _ = await gate.look(thread)
    await gate("setVariable", frameId=frame_id, evaluateName="number", value="1")
    lines = [one for one in audit(cluster) if one.get("worker_id") == gate.worker_id]
    events: dict[str, dict[str, Any]] = {one["event"]: one for one in lines}
    assert events["debug_attach"]["role"] == "debugger"
    assert {one.get("expression") for one in lines if one["event"] == "debug_evaluate"} >= {"number + 0"}
    assert "True" in str(events["debug_setBreakpoints"]["breakpoints"])
    assert events["debug_continue"]["threadId"] == gate.thread.threadId
    assert events["debug_setVariable"]["evaluateName"] == "number"
    assert all(one["who"] and one["peer"] for one in lines)


async def test_a_grant_for_another_job_sees_no_session(gate: Gate, cluster: RayCluster) -> None:
    def token_for(job_id: str) -> str:
        command = ["-m", "raydebug.cli", "grant", "--role", "debugger", "--name", "guest", "--job", job_id, "--json"]
        made = subprocess.run(
            [cluster.python, *command, "--address", cluster.url], env=cluster.env, capture_output=True
        )
        return msgspec.json.decode(made.stdout, type=GrantMade).token

    assert gate.row.job_id is not None
    async with live(cluster, token_for("ffffffff")) as other:
        assert not other.tables["sessions"]
        for command in ("attach", "detach", "evaluate", "console"):
            assert await refused(other.debug(gate.worker_id, command, expression="1")) == "unknown"
    async with live(cluster, token_for(gate.row.job_id)) as other:
        assert set(other.tables["sessions"]) == {gate.worker_id}
        assert (await other.debug(gate.worker_id, "evaluate", expression="1 + 1", context="watch"))["result"] == "2"
    (last,) = [one for one in audit(cluster) if one.get("expression") == "1 + 1"]
    assert "guest" in last["who"]


async def test_detach(gate: Gate, cluster: RayCluster) -> None:
    """The last of this module: the worker goes on, and its next breakpoint() waits for somebody again."""
    await gate("detach")
    await gate.client.until(lambda: gate.worker_id not in gate.client.tables["sessions"], PATIENCE)
    assert "debug_detach" in {one["event"] for one in audit(cluster) if one.get("worker_id") == gate.worker_id}
    session, thread = await attached(gate.client, ROUNDS, "gate")
    assert int((await session.look(thread))[1]["number"]) > 1
