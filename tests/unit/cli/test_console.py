"""The console of ``raydebug attach``: its lines, and what it shows."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest
from rich.text import Text

from raydebug.api.debug import Breakpoint, DebugThread
from raydebug.cli.attach import _Terminal, not_carried_out
from raydebug.cli.console import text
from raydebug.cli.console.commands import Console, Leave
from raydebug.cli.console.paper import Paper, Reader
from raydebug.cli.console.parse import (
    COMMANDS,
    LETTERS,
    Break,
    Order,
    UsageError,
    assignment,
    breakpoint_of,
    goes_on,
    number,
    parse,
)
from raydebug.cli.console.pieces import Pieces

from .samples import HOSTILE, NOW, ago


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("", Order("")),
        ("   ", Order("")),
        ("x + 1\n", Order("evaluate", "x + 1")),
        (":next", Order("next")),
        ("  :next  ", Order("next")),
        (":n", Order("next")),
        (":b train.py:3", Order("break", "train.py:3")),
        (":until 12", Order("until", "12")),
        (":u", Order("up")),
        (":cont", Order("continue")),
        (":thread 3", Order("thread", "3")),
        (":loc", Order("locals")),
        (":p  x", Order("p", "x")),
        ("n", Order("next")),
        ("w", Order("stack")),
        ("q", Order("quit")),
        ("p x.y", Order("p", "x.y")),
        ("p", Order("p")),
        ("p in names", Order("evaluate", "p in names")),  # Python, so it is evaluated
        ("p if p else q", Order("evaluate", "p if p else q")),
        ("n + 1", Order("evaluate", "n + 1")),
        ("step", Order("evaluate", "step")),  # only the letters go without a colon
        ("for x in y:", Order("evaluate", "for x in y:")),
    ],
)
def test_parse(line: str, order: Order) -> None:
    assert parse(line) == order


@pytest.mark.parametrize("letter", LETTERS)
def test_a_variable_wins_over_a_letter(letter: str) -> None:
    assert parse(letter, {letter}) == Order("evaluate", letter)
    assert parse(f":{letter}", {letter}) == Order(LETTERS[letter])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (":bogus", ":help lists them"),
        (":nxt", "did you mean :next?"),
        (":", "isn't a command"),
        (":br", ":break, :breaks"),
        (":\x1b[2J", "isn't a command"),
    ],
)
def test_no_command(line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(line)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("12", Break(None, 12)),
        ("train.py:12", Break("train.py", 12)),
        ("/a b/train.py:12 if x > 3", Break("/a b/train.py", 12, "x > 3")),
        ("train.py:12, d['k:1'] == 2", Break("train.py", 12, "d['k:1'] == 2")),
        ("12 if x if y else z", Break(None, 12, "x if y else z")),
        ("train.py: 12", Break("train.py", 12)),
    ],
)
def test_breakpoints(rest: str, found: Break) -> None:
    assert breakpoint_of(rest) == found


@pytest.mark.parametrize("rest", ["", "train.py", "0", "train.py:0", "12 x > 3", "12 if", "train.py:x"])
def test_bad_breakpoints(rest: str) -> None:
    with pytest.raises(UsageError, match=r"expected \[FILE:\]LINE"):
        breakpoint_of(rest)


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("x = 1", ("x", "1")),
        ("self.items[3] = {'a=b': 1}", ("self.items[3]", "{'a=b': 1}")),
        ("d['a=b'] = f(x=2)", ("d['a=b']", "f(x=2)")),
        ("é = 'ü'", ("é", "'ü'")),
    ],
)
def test_assignments(rest: str, found: tuple[str, str]) -> None:
    assert assignment(rest) == found


@pytest.mark.parametrize("rest", ["", "x", "x == 1", "x += 1", "x = y = 1", "x = 1; y = 2", "= 1", "1 = x ="])
def test_bad_assignments(rest: str) -> None:
    with pytest.raises(UsageError, match="NAME = VALUE"):
        assignment(rest)


def test_numbers() -> None:
    assert number("12", "a line") == 12
    for rest in ("", "x", "-1", "1.5"):
        with pytest.raises(UsageError, match="a line"):
            number(rest, "a line")


@pytest.mark.parametrize(
    ("line", "more"),
    [("x", False), ("for x in y:", True), ("if x: y", True), ("f(", True), ("x = '", False), ("1/", False)],
)
def test_lines_that_go_on(line: str, more: bool) -> None:
    assert goes_on(line) is more
    if line.startswith("for"):
        assert goes_on(line + "\n    pass")
        assert not goes_on(line + "\n    pass\n")


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


SOURCE = "def train():\n    x = 1\n\ty = 2\x1b[2J\n\n    return x\n"


def test_source_around_a_line() -> None:
    assert plain(text.source_lines(SOURCE, 2, 1, 2, {3})) == [
        "   1  def train():",
        " → 2      x = 1",
        r"●  3          y = 2\x1b[2J",
    ]
    assert plain(text.source_lines(SOURCE, 5, 1, 4, utf8=False)) == [" > 4", "   5      return x"]
    assert plain(text.source_lines(SOURCE, 90, 5, 2)) == ["  the file has 5 lines"]
    assert len(plain(text.source_lines("x\n" * 200, 100, 5, 100))) == 11


def stopped(**changes: object) -> DebugThread:
    values: dict[str, object] = {
        "threadId": 1,
        "name": "MainThread",
        "state": "stopped",
        "reason": "step",
        "stop": 4,
        "file": "/job/train.py",
        "line": 12,
        "function": "train",
        "since_ns": ago(3),
    }
    return DebugThread(**values | changes)  # type: ignore[arg-type]


def test_where_it_stands() -> None:
    assert text.stop_line(stopped(), False).plain == "stopped (step) at /job/train.py:12 in train"
    assert text.stop_line(stopped(), True).plain.endswith("in train  thread 1 MainThread")
    assert text.stop_line(stopped(file=None, line=None), False).plain == "stopped (step) at no source in train"
    threads = [stopped(task_id="a" * 48), DebugThread(threadId=2, name=HOSTILE, state="running")]
    lines = plain(list(text.thread_lines(threads, 1, NOW)))
    assert lines[0] == "> 1  MainThread  stopped  /job/train.py:12 in train  3s  task aaaaaaaaaaaaaaaa"
    assert lines[1].startswith("  2  ")


def test_stack_and_variables() -> None:
    frames = [
        {"id": 1, "name": "train", "path": "/job/train.py", "line": 12, "subtle": False},
        {"id": 2, "name": "main_loop", "path": None, "line": 3, "subtle": True},
    ]
    assert plain(list(text.stack_lines(frames, 1, 9))) == [
        "  #0  train  /job/train.py:12",
        "> #1  main_loop  no source:3",
        "    and 7 more (:stack 9 shows all)",
    ]
    assert plain(list(text.stack_lines(frames, 0, 2, 1)))[1:] == ["    and 1 more (:stack 2 shows all)"]
    assert len(list(text.stack_lines(frames, 0, 2, 2))) == 2
    variables = [
        {"name": "x", "value": "1", "type": "int"},
        {"name": "s", "value": "'" + "a" * 99 + "'", "type": "str"},
    ]
    lines = plain(list(text.variable_lines(variables, 5, 40)))
    assert lines[0] == "x = 1  int"
    assert len(lines[1]) == 40
    assert lines[2] == "and 3 more"
    assert plain(list(text.variable_lines([], 0, None))) == ["no variables"]


def test_breakpoints_and_tasks() -> None:
    breaks = [
        Breakpoint(number=1, path="/a.py", line=3, verified=True, condition="x > 1", hits=2),
        Breakpoint(number=2, path="/a.py", line=4, message="no code"),
        Breakpoint(number=5, path="/a.py", line=5, enabled=False, logMessage="x is {x}"),
    ]
    assert plain(list(text.break_lines(breaks))) == [
        "1  /a.py:3  if x > 1  hits 2",
        "2  /a.py:4  can't hit: no code",
        "5  /a.py:5  logs 'x is {x}'  disabled",
    ]
    tasks: list[dict[str, Any]] = [
        {"name": "T-1", "coroutine": "A.step", "file": "/a.py", "line": 3, "state": "current"},
        {"name": "T-2", "coroutine": "A.other", "file": None, "line": None, "state": "waiting"},
    ]
    assert plain(list(text.task_lines(tasks))) == [
        ">  T-1  A.step  /a.py:3  stands here",
        "   T-2  A.other  waits for it",
    ]


def test_nothing_of_user_code_reaches_the_terminal_raw() -> None:
    frame = {"id": 1, "name": HOSTILE, "path": HOSTILE, "line": 1, "subtle": False}
    task = {"name": HOSTILE, "coroutine": HOSTILE, "file": HOSTILE, "line": 1, "state": "waiting"}
    breaks = Breakpoint(
        path=HOSTILE, line=1, condition=HOSTILE, hitCondition=HOSTILE, logMessage=HOSTILE, message=HOSTILE
    )
    shown = [
        *text.source_lines(HOSTILE, 1, 5, 1),
        *text.stack_lines([frame], 0, 1),
        *text.variable_lines([{"name": HOSTILE, "value": HOSTILE, "type": HOSTILE}], 1, None),
        *text.value_lines(HOSTILE),
        *text.error_lines(HOSTILE),
        *text.error_lines("x", HOSTILE),
        *text.output_lines("stdout", HOSTILE),
        *text.thread_lines([stopped(name=HOSTILE, file=HOSTILE, function=HOSTILE, task_id=HOSTILE)], 1, NOW),
        *text.break_lines([breaks]),
        *text.task_lines([task]),
        text.stop_line(stopped(name=HOSTILE, file=HOSTILE, function=HOSTILE, reason=HOSTILE), True),
        text.exception_line({"type": HOSTILE, "message": HOSTILE}),
    ]
    for line in shown:
        assert not any(char in line.plain for char in "\x1b\x07\u202e\n\udcff"), line.plain


def test_long_values_are_cut() -> None:
    lines = plain(text.value_lines("\n".join(map(str, range(1000)))))
    assert len(lines) == 201
    assert lines[-1] == "and 800 more lines"


async def test_lines_that_come_in_pieces_are_shown_whole() -> None:
    said: list[tuple[str, str]] = []
    pieces = Pieces(lambda kind, lines: said.append((kind, lines)))
    pieces.add("stdout", "one\ntwo\nth")
    pieces.add("stdout", "ree\nfo")
    assert said == [("stdout", "one\ntwo"), ("stdout", "three")]
    pieces.add("stderr", "wrong\n")
    assert said[2:] == [("stdout", "fo"), ("stderr", "wrong")]
    pieces.add("stdout", "prompt> ")
    pieces.end()
    pieces.end()
    pieces.add("stdout", "\nnext\n\n")
    assert said[4:] == [("stdout", "prompt> "), ("stdout", "next\n")]


def test_every_command_is_carried_out_and_explained() -> None:
    lines = plain(list(text.help_lines(COMMANDS, LETTERS)))
    for name, (takes, does) in COMMANDS.items():
        assert any(line.startswith(f":{name} {takes}".rstrip()) and does in line for line in lines), name
    assert set(LETTERS.values()) <= set(COMMANDS)


async def test_commands_are_those_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(None, "w", Paper(), None, lambda: None)  # type: ignore[arg-type]
    assert set(console._do) == {*COMMANDS, "evaluate"}


def nobody(line: str, word: str) -> list[str]:
    return []


def piped(monkeypatch: pytest.MonkeyPatch) -> tuple[Reader, Callable[[], str]]:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\n\n\tif \x1b[2J:\nlast"))
    monkeypatch.setattr(sys, "stdout", out)
    return Reader(Paper(), nobody), out.getvalue


def test_lines_of_a_pipe_are_shown_as_if_they_were_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, said = piped(monkeypatch)
    assert reader.piped
    assert [reader.read("> ") for _ in range(5)] == ["one", "", "\tif \x1b[2J:", "last", None]
    assert said() == "> one\n>\n>         if \\x1b[2J:\n> last\n"


def test_a_line_that_comes_while_somebody_types_leaves_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    paper = Paper()
    paper.prompt("> ", lambda: "typed")
    paper.put("news")
    paper.prompt(None)
    paper.put("more")
    assert out.getvalue() == "\r\x1b[Knews\n> typedmore\n"


class Frames:
    """A stopped thread with many frames, of which the hub gives the innermost by itself."""

    def __init__(self, total: int, page: int) -> None:
        self.frames = [
            {"id": n, "name": f"f{n}", "path": "/a.py", "line": n + 1, "subtle": False} for n in range(total)
        ]
        self.page = page
        self.asked: list[tuple[int, int]] = []

    async def ask(self, command: str, **arguments: Any) -> Any:
        if command == "look":
            return {"variables": None, "frames": self.frames[: self.page], "total_frames": len(self.frames)}
        if command == "stackTrace":
            start, levels = arguments["startFrame"], arguments["levels"]
            self.asked.append((start, levels))
            return {"stackFrames": self.frames[start : start + min(levels, 1000)], "totalFrames": len(self.frames)}
        return {"text": "\n" * 5000}


async def test_frames_beyond_the_first_page(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    console = Console(types.SimpleNamespace(tables={}), "w", Paper(), None, lambda: None)  # type: ignore[arg-type]
    hub, thread = Frames(2405, 100), stopped()

    async def standing() -> DebugThread:
        return thread

    monkeypatch.setattr(console, "_standing", standing)
    monkeypatch.setattr(console.worker, "ask", hub.ask)
    console._frames, console._total = list(hub.frames[:100]), 2405
    await console.handle(":stack")
    assert (out.getvalue().count("#"), hub.asked) == (100, [])
    assert "and 2305 more (:stack 2405 shows all)" in out.getvalue()
    await console.handle(":frame 390")
    assert hub.asked == [(100, 291)]
    assert "/a.py:391 in f390" in out.getvalue()
    await console.handle(":up")
    assert "/a.py:392 in f391" in out.getvalue()
    await console.handle(":frame 2405")
    assert "there is no frame 2405: the outermost is 2404" in out.getvalue()
    assert hub.asked[2:] == [(392, 1000), (1392, 1000), (2392, 13)]
    assert [frame["id"] for frame in console._frames] == list(range(2405))
    out.truncate(0)
    await console.handle(":stack 2405")
    assert "#2404  f2404" in out.getvalue()
    assert "more" not in out.getvalue()
    await console.handle(":stack much")
    assert "expected how many frames, not 'much'" in out.getvalue()


def test_what_a_script_that_was_cut_short_left() -> None:
    assert not_carried_out(["c", "", " :wait ", ":bogus"]) == ["c", ":wait", ":bogus"]
    # The end that it asks for has come.
    assert not_carried_out([":detach", "loss"]) == []
    assert not_carried_out(["loss", "q", "c"]) == ["loss"]
    assert not_carried_out([]) == []


def test_lines_of_a_pipe_that_nobody_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, _ = piped(monkeypatch)
    assert reader.read("> ") == "one"
    assert reader.rest() == ["", "\tif \x1b[2J:", "last"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_pipe_that_stays_open_is_not_waited_for(closed: bool) -> None:
    code = (
        "import sys; from raydebug.cli.console.paper import Paper, Reader\n"
        "reader = Reader(Paper(), lambda line, word: [])\n"
        "reader.read('> '); sys.stderr.write(str(len(reader.rest())))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"one\n" + "another lïne\n".encode() * 4000)
        process.stdin.flush()
        if closed:
            process.stdin.close()
        assert process.stderr.read() == b"4000"
        assert process.wait() == 0


def test_what_a_line_says_when_its_waiting_is_ended_comes_before_the_next_prompt() -> None:
    said: list[str] = []
    main = threading.get_ident()

    class Waiting:
        async def handle(self, line: str) -> None:
            while not _is_in(sys._current_frames()[main], "result"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
                said.append("It runs on")
                raise

    terminal = _Terminal(None, "w", 1)  # type: ignore[arg-type]
    loop = threading.Thread(target=terminal._loop.run_forever)
    loop.start()
    try:
        assert terminal._handled(Waiting(), ":wait")  # type: ignore[arg-type]
        assert said == ["It runs on"]
    finally:
        terminal._loop.call_soon_threadsafe(terminal._loop.stop)
        loop.join()
        terminal._loop.close()


def _is_in(frame: types.FrameType | None, function: str) -> bool:
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None


async def test_a_pause_that_stops_nothing_says_what_can_not_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    console = Console(types.SimpleNamespace(tables={}), "w", Paper(), 30, lambda: None)  # type: ignore[arg-type]

    async def said(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(console.worker, "ask", said)
    monkeypatch.setattr(console.worker, "next_stop", said)
    await console.handle(":pause")
    assert console.failed
    assert out.getvalue() == f"no stop in 30 s: it runs. {text.NATIVE}\n"


@pytest.mark.parametrize(
    ("script", "asked", "failed", "said"),
    [
        ("c\nloss\n:locals\n", False, True, "2 lines of the script were not carried out, from 'loss' on\n"),
        ("c\nloss\n", False, True, "1 line of the script was not carried out, from 'loss' on\n"),
        ("c\n:detach\n", False, False, ""),
        ("c\n", False, False, ""),
        (":detach\nloss\n", True, False, ""),
    ],
)
def test_a_script_whose_session_ends_before_it(
    monkeypatch: pytest.MonkeyPatch, script: str, asked: bool, failed: bool, said: str
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(script))
    monkeypatch.setattr(sys, "stdout", out)

    class Ending:
        worker = types.SimpleNamespace(ended=None)
        failed = False
        left = asked

        async def handle(self, line: str) -> None:
            raise Leave

    terminal = _Terminal(None, "w", 1)  # type: ignore[arg-type]
    terminal._console = console = Ending()  # type: ignore[assignment]
    loop = threading.Thread(target=terminal._loop.run_forever)
    loop.start()
    try:
        terminal._lines()
        terminal._unread()
    finally:
        terminal._loop.call_soon_threadsafe(terminal._loop.stop)
        loop.join()
        terminal._loop.close()
    assert console.failed == failed
    assert out.getvalue().partition("\n")[2] == said
