"""The keeper and the hub's half of it: a real keeper process, real debugpy, no Ray."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import msgspec
import psutil
import pytest

from raydebug.api.keeper import Close, Ended, Note, Open, Opened, Orphan, Response, WillRequest
from raydebug.api.names import AGENT_KEEPER_PATH, TAKEN_OVER
from raydebug.dap.commands import ALLOWED
from raydebug.dap.framing import FrameReader
from raydebug.helper.keeper.peers import who_is_connected
from raydebug.hub.access.errors import AccessError
from raydebug.hub.debugger.memory import Memory
from raydebug.hub.nodes.dial import Unreachable
from tests.support.dap_client import DapClient
from tests.support.keeper import NODE, SECRET, Agent, agent, debuggee, desk, raw_hub, until

WORKER = "cd" * 28
QUIET_S = 0.7
"""So long nothing may happen where nothing should."""


async def test_a_hub_that_doesnt_know_the_secret_is_refused(node: Agent) -> None:
    async with raw_hub(node):
        with pytest.raises(Unreachable) as refused:
            async with raw_hub(node, secret="x" * 64):
                pass
    assert refused.value.state == "refused"
    assert "secret" in refused.value.note


async def test_looking_for_a_keeper_starts_none(node: Agent, tmp_path: Path) -> None:
    async with desk(tmp_path, node, {}):
        await asyncio.sleep(QUIET_S)
        assert node.keeper_pid is None
    with pytest.raises(Unreachable) as none:
        async with raw_hub(node, path=f"{AGENT_KEEPER_PATH}?running"):
            pass
    assert none.value.state == "missing"
    assert node.keeper_pid is None
    async with raw_hub(node), raw_hub(node, path=f"{AGENT_KEEPER_PATH}?running"):
        assert node.keeper_pid is not None


async def test_a_session_outlives_its_hub(node: Agent, tmp_path: Path) -> None:
    """The hub is gone at once: the worker stays stopped, and what happens meanwhile is kept for the next."""
    async with debuggee() as (child, port):
        async with desk(tmp_path, node, {WORKER: port}) as first:
            await first(WORKER, "attach")
            _, stop = await first.stopped(WORKER)
            row = first.rows[WORKER]
            assert row.keeper
            assert row.python == ".".join(map(str, sys.version_info[:3]))
            lines = await first(WORKER, "setBreakpoints", path=__file__, breakpoints=[{"line": 1, "condition": "a"}])
            assert lines["breakpoints"][0].condition == "a"
            await first(WORKER, "evaluate", expression="print('from the console')")
            await asyncio.sleep(0.3)  # a note is on its way at most that long
        await asyncio.sleep(QUIET_S)
        assert child.rounds() == 0

        async with raw_hub(node) as hub:
            kept = hub.kept[WORKER]
            assert kept.ended is None
            assert (kept.host, kept.port) == ("127.0.0.1", port)
            memory = msgspec.msgpack.decode(kept.note, type=Memory)
            assert memory.target.worker_id == WORKER
            assert memory.stops == stop
            assert kept.asked == []
            numbers = [event.number for event in kept.events]
            assert numbers == sorted(set(numbers))
            assert all(number > memory.seen for number in numbers)

        child.tell("print while nobody looked")
        await child.hear("done", "print")
        async with desk(tmp_path, node, {}) as second:
            row = await second.state(WORKER, "stopped")
            assert row.attached_by == "raydebug's token"
            thread, again = await second.stopped(WORKER)
            assert again == stop
            await until(lambda: second.rows[WORKER].breakpoints)
            assert [(one.path, one.condition) for one in second.rows[WORKER].breakpoints] == [(__file__, "a")]
            entries = (await second(WORKER, "console")).entries
            text = "\n".join(entry.text for entry in entries)
            assert "from the console" in text
            assert "while nobody looked" in text
            look = await second(WORKER, "look", threadId=thread)
            assert "items" in [one.name for one in look.variables.variables]
            value = await second(WORKER, "evaluate", expression="len(items)", frameId=look.frame_id)
            assert value.result == "1000"
            assert child.rounds() == 0
            await second(WORKER, "continue", threadId=thread)
            await child.hear("went_on", 1)
            await second.stopped(WORKER, after=again)  # the next breakpoint(), with no new attach


async def test_the_newest_hub_is_served_and_the_one_before_told(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path / "a", node, {WORKER: port}) as first:
        await first(WORKER, "attach")
        thread, _ = await first.stopped(WORKER)
        look = await first(WORKER, "look", threadId=thread)
        sleeping = asyncio.create_task(
            first(WORKER, "evaluate", expression="__import__('time').sleep(2) or 5", frameId=look.frame_id)
        )
        await until(lambda: first.rows[WORKER].evaluations)
        await asyncio.sleep(0.3)
        async with desk(tmp_path / "b", node, {}) as second:
            row = await second.state(WORKER, "stopped")
            assert [one.expression for one in row.evaluations] == ["__import__('time').sleep(2) or 5"]
            ended = await first.state(WORKER, "ended")
            assert "taken over" in (ended.note or "")
            with pytest.raises(AccessError):
                await sleeping
            await until(lambda: not second.rows[WORKER].evaluations, what="the orphan's end")
            # What the thread couldn't be asked while it evaluated.
            await until(lambda: any(one.os_thread_id for one in second.rows[WORKER].threads if one.state == "stopped"))
            look = await second(WORKER, "look", threadId=thread)
            value = await second(WORKER, "evaluate", expression="len(items)", frameId=look.frame_id)
            assert value.result == "1000"
            assert (await first.state(WORKER, "ended")).state == "ended"  # and it doesn't come back
        assert child.rounds() == 0


async def test_an_earlier_hubs_answers_are_dropped(node: Agent) -> None:
    async with debuggee() as (_, port), raw_hub(node) as first:
        await first.attach(WORKER, port)
        await first.event("stopped")
        await first.begin(WORKER, "evaluate", expression="__import__('time').sleep(1)")
        await asyncio.sleep(0.2)
        async with raw_hub(node) as second:
            assert [command for command, _ in second.kept[WORKER].asked] == ["evaluate"]
            # Its answer, and those of what the first one asks from now on, never come.
            await first.begin(WORKER, "threads")
            assert (await second.hear(Orphan)).command == "evaluate"
            assert (await second.ask(WORKER, "threads")).success
            assert [one.tag for one in second.heard if isinstance(one, Response)] == [1]
            frame = await first.ws.receive(timeout=10)
            while frame.type is aiohttp.WSMsgType.BINARY:
                frame = await first.ws.receive(timeout=10)
            assert first.ws.close_code == TAKEN_OVER


async def test_a_hub_that_hangs_doesnt_keep_the_next_one_waiting(node: Agent) -> None:
    """It answers no close, as a stopped process doesn't."""
    async with raw_hub(node), raw_hub(node) as second:
        await asyncio.wait_for(second.ask(WORKER, "threads"), 5)


async def test_the_next_statement_is_set_in_the_file_that_is_named(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (_, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        thread, stop = await hub.stopped(WORKER)
        row = hub.rows[WORKER].threads[0]
        with pytest.raises(AccessError) as refused:
            await hub(WORKER, "goto", threadId=thread, path="/nowhere.py", line=row.line)
        assert "stands in" in refused.value.body.message
        await hub(WORKER, "goto", threadId=thread, path=row.file, line=row.line)
        await hub.stopped(WORKER, after=stop)


async def test_questions_that_come_together_are_answered_together(node: Agent, tmp_path: Path) -> None:
    """pydevd alone would take 0.2 s for each but the first: 6 s."""
    async with debuggee() as (_, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        thread, _ = await hub.stopped(WORKER)
        frame = (await hub(WORKER, "look", threadId=thread)).frame_id
        began = time.monotonic()
        asking = (
            hub(WORKER, "evaluate", expression=f"len(items) + {number}", frameId=frame, context="watch")
            for number in range(30)
        )
        values = [value.result for value in await asyncio.gather(*asking)]
        assert values == [str(1000 + number) for number in range(30)]
        assert time.monotonic() - began < 3


async def test_a_killed_keeper_frees_its_workers_and_says_so(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        await hub.stopped(WORKER)
        assert node.keeper_pid is not None
        os.kill(node.keeper_pid, signal.SIGKILL)
        row = await hub.state(WORKER, "ended")
        assert "keeper" in (row.note or "")
        assert {one.state for one in row.threads} <= {"running"}  # it went on
        await child.hear("went_on", 1)
        await hub(WORKER, "attach")  # by the next one
        await hub.stopped(WORKER)
        assert hub.rows[WORKER].keeper


async def test_an_adapter_that_has_ended_is_said_to_have(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await child.hear("waits", 1)
        tcp = psutil.net_connections("tcp")
        (adapter,) = (one.pid for one in tcp if one.status == "LISTEN" and port in tuple(one.laddr))
        assert adapter
        os.kill(adapter, signal.SIGKILL)
        with pytest.raises(AccessError) as refused:
            await hub(WORKER, "attach")
        assert "waits for nobody" in refused.value.body.message
        assert hub.rows[WORKER].state == "failed"


async def test_a_worker_that_dies_ends_its_session(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port), desk(tmp_path, node, {WORKER: port}) as hub:
        await hub(WORKER, "attach")
        await hub.stopped(WORKER)
        child.process.kill()
        row = await hub.state(WORKER, "ended", timeout=5)
        assert row.note == "the process has ended"
        async with raw_hub(node) as raw:
            assert raw.kept == {}


async def test_a_worker_that_dies_while_there_is_no_hub(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port):
        async with desk(tmp_path, node, {WORKER: port}) as first:
            await first(WORKER, "attach")
            await first.stopped(WORKER)
            await asyncio.sleep(0.3)
        child.process.kill()
        await asyncio.sleep(0.3)
        async with desk(tmp_path, node, {}) as second:
            row = await second.state(WORKER, "ended")
            assert row.note == "the process has ended"


async def test_another_client_is_named(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (_, port), desk(tmp_path, node, {WORKER: port}) as hub:
        assert await asyncio.to_thread(who_is_connected, port, None) is None
        async with await DapClient.connect("127.0.0.1", port) as ide:
            await ide.attach()
            await ide.stopped()
            own = ide._writer.get_extra_info("sockname")[1]
            name = await asyncio.to_thread(who_is_connected, port, None)
            assert name is not None
            assert name.endswith(f"(pid {os.getpid()}) on this node")
            assert await asyncio.to_thread(who_is_connected, port, own) is None
            with pytest.raises(AccessError) as held:
                await hub(WORKER, "attach")
            assert held.value.body.code == "held"
            row = await hub.state(WORKER, "failed", "attaching")
            assert f"(pid {os.getpid()})" in (row.held_by or "")
        await hub.stopped(WORKER)  # it was tried again
        assert hub.rows[WORKER].held_by is None


class Recorder:
    """For this alone: an adapter that notes which commands reach it, and answers each."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        while data := await reader.read(65536):
            for message in frames.feed(data):
                self.commands.append(message.command)
                body = json.dumps(
                    {"seq": 1, "type": "response", "request_seq": message.seq, "success": True, "command": "x"}
                ).encode()
                writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()


async def test_only_commands_on_the_list_reach_debugpy(node: Agent) -> None:
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    async with server, raw_hub(node) as hub:
        await hub.say(Open(session=WORKER, host="127.0.0.1", port=server.sockets[0].getsockname()[1]))
        assert (await hub.hear(Opened)).error is None
        unknown = ["loadedSources", "dataBreakpointInfo", "breakpointLocations", "restartFrame", "cancel"]
        unknown += [
            "terminateThreads",
            "readMemory",
            "launch",
            "terminate",
            "pydevdSystemInfo",
            "",
            "Attach",
            "x" * 9999,
        ]
        for command in unknown:
            answer = await hub.ask(WORKER, command)
            assert answer.refused
            assert not answer.success
            assert "isn't a command" in (answer.message or "")
        for command in sorted(ALLOWED):
            assert (await hub.ask(WORKER, command)).success
        assert recorder.commands == sorted(ALLOWED)
        assert (await hub.ask("ef" * 28, "threads")).refused  # there is no such session
        await hub.say(Close(session=WORKER))
        assert (await hub.ask(WORKER, "threads")).refused


async def test_a_note_settles_the_events_before_it(node: Agent) -> None:
    async with debuggee() as (child, port):
        async with raw_hub(node) as hub:
            await hub.attach(WORKER, port)
            last = await hub.event("initialized")
            will = [WillRequest("evaluate", b'{"expression": "1"}')]
            await hub.say(Note(session=WORKER, note=b"one", upto=last.event.number, lease_s=60, will=will))
            child.tell("print hello")
            await hub.event("output", b"hello")
        async with raw_hub(node) as hub:
            kept = hub.kept[WORKER]
            assert kept.note == b"one"
            assert kept.dropped == 0
            assert kept.events[0].number == last.event.number + 1
            assert any(b"hello" in one.body for one in kept.events)


async def test_a_session_that_cant_be_opened(node: Agent, tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with raw_hub(node) as hub:
        await hub.say(Open(session=WORKER, host="127.0.0.1", port=port))
        assert "can't be reached" in ((await hub.hear(Opened)).error or "")
        await hub.say(Open(session=WORKER, host="no such host", port=port))
        assert "can't be reached" in ((await hub.hear(Opened)).error or "")
    async with desk(tmp_path, node, {WORKER: port}) as made:
        with pytest.raises(AccessError) as failed:
            await made(WORKER, "attach")
        assert failed.value.body.code == "failed"
        assert (await made.state(WORKER, "failed")).note


async def test_without_a_keeper_the_hub_holds_the_socket(tmp_path: Path) -> None:
    async with debuggee() as (child, port):
        async with desk(tmp_path, None, {WORKER: port}) as hub:
            await hub(WORKER, "attach")
            thread, _ = await hub.stopped(WORKER)
            assert not hub.rows[WORKER].keeper
            await hub(WORKER, "next", threadId=thread)
            hub.broker.sessions[WORKER].channel.close()  # type: ignore[union-attr]
            await hub.state(WORKER, "ended")
        await child.hear("went_on", 1)


def test_the_end_of_stdin_ends_it(tmp_path: Path) -> None:
    for close in (True, False):
        child = subprocess.Popen(
            [sys.executable, "-m", "raydebug.helper.keeper", "--socket", str(tmp_path / "keeper.sock")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert child.stdin
        assert child.stdout
        with contextlib.closing(child.stdout):
            if close:
                child.stdin.write(json.dumps({"node_id": NODE, "secret": SECRET}).encode() + b"\n")
                child.stdin.flush()
                assert child.stdout.readline() == b"ready\n"
                assert (tmp_path / "keeper.sock").stat().st_mode & 0o777 == 0o600
            child.stdin.close()
            assert child.wait(10) == 0


async def test_the_end_of_the_keeper_lets_the_worker_go_on(node: Agent, tmp_path: Path) -> None:
    async with debuggee() as (child, port):
        async with agent(tmp_path) as other, raw_hub(other) as hub:
            await hub.attach(WORKER, port)
            await hub.event("stopped")
        await child.hear("went_on", 1)


async def test_a_connection_that_ends_is_told_and_asked_no_more(node: Agent) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server, raw_hub(node) as hub:
        await hub.say(Open(session=WORKER, host="127.0.0.1", port=server.sockets[0].getsockname()[1]))
        await hub.begin(WORKER, "threads")
        assert (await hub.hear(Response)).refused
        assert "closed the connection" in (await hub.hear(Ended)).reason
        assert (await hub.ask(WORKER, "threads")).refused
