"""How the console shows places, stacks, variables, breakpoints and output."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from raydebug.api.debug import Breakpoint, DebugThread
from raydebug.cli.screen import data, row, shorten
from raydebug.cli.words import age, clean

AROUND_STOP: Final = 2
"""Lines before and after the one at which a thread stops: five in all."""
AROUND_LIST: Final = 5
_MOST_VALUE_LINES: Final = 200
_MOST_LOCALS: Final = 200
MOST_STACK: Final = 100
NATIVE: Final = "A thread in native code (a collective, a blocking C call) stops only when that returns."
_OUTPUT_STYLE: Final = {"stderr": "red", "log": "cyan", "note": "dim"}


def place(file: str | None, line: int | None, function: str | None) -> Text:
    at = f"{clean(file or 'no source')}" + (f":{line}" if line is not None else "")
    return row(Text(at, style="bold"), data(f"in {function}") if function else None, gap=" ")


def stop_line(thread: DebugThread, several: bool) -> Text:
    """``stopped (step) at train.py:12 in train``."""
    why = {"exception": "exception", "breakpoint": "breakpoint"}.get(thread.reason or "", thread.reason or "")
    words = Text("stopped", style="bold magenta")
    head = row(
        words, data(f"({why})") if why else None, "at", place(thread.file, thread.line, thread.function), gap=" "
    )
    return row(head, data(f"thread {thread.threadId} {thread.name}") if several else None)


def exception_line(told: Mapping[str, Any]) -> Text:
    return data(f"{told['type']}: {told['message']}", "bold red")


def source_lines(
    text: str, line: int, around: int, current: int | None, breaks: Collection[int] = (), utf8: bool = True
) -> list[Text]:
    """Lines around ``line``, numbered; an arrow at ``current``, a dot where there is a breakpoint."""
    lines = text.splitlines()
    first, last = max(1, line - around), min(len(lines), line + around)
    if first > last:
        return [Text(f"  the file has {len(lines)} lines", style="dim")]
    width = len(str(last))
    arrow, dot = ("→", "●") if utf8 else (">", "*")
    shown = []
    for number in range(first, last + 1):
        here = number == current
        mark = (dot if number in breaks else " ") + (arrow if here else " ")
        code = clean(lines[number - 1].expandtabs(8).rstrip())
        head = Text(f"{mark} {number:>{width}}  ", style="bold magenta" if here or number in breaks else "dim")
        line_of_code = head.append(code, style="bold" if here else "")
        line_of_code.rstrip()
        shown.append(line_of_code)
    return shown


def stack_lines(frames: Sequence[Mapping[str, Any]], at: int, total: int, most: int = MOST_STACK) -> Iterator[Text]:
    """Innermost first; frames of Ray and the debugger are dim."""
    for index, frame in enumerate(frames[:most]):
        here = index == at
        style = "bold" if here else "dim" if frame["subtle"] else ""
        where = f"{frame['path'] or 'no source'}:{frame['line']}"
        yield row(
            Text(f"{'>' if here else ' '} #{index}", style="bold magenta" if here else "dim"),
            data(shorten(frame["name"], 60), style),
            data(where, style or "dim"),
        )
    whole = max(total, len(frames))
    if (more := whole - min(len(frames), most)) > 0:
        yield Text(f"    and {more} more (:stack {whole} shows all)", style="dim")


def variable_lines(variables: Sequence[Mapping[str, Any]], total: int, width: int | None) -> Iterator[Text]:
    if not variables:
        yield Text("no variables", style="dim")
    for one in variables[:_MOST_LOCALS]:
        line = data(one["name"], "cyan").append(" = ").append_text(data(one["value"]))
        kind = one.get("type") or ""
        if kind:
            line.append(f"  {clean(shorten(kind, 40))}", style="dim")
        if width is not None and line.cell_len > width:
            line.truncate(width, overflow="ellipsis")
        yield line
    if total > min(len(variables), _MOST_LOCALS):
        yield Text(f"and {total - min(len(variables), _MOST_LOCALS)} more", style="dim")


def value_lines(value: str, note: str = "") -> list[Text]:
    """A result; one without a value (None of a statement) is nothing to show."""
    lines = [Text(clean(line)) for line in value.split("\n")]
    if len(lines) > _MOST_VALUE_LINES:
        lines = [*lines[:_MOST_VALUE_LINES], Text(f"and {len(lines) - _MOST_VALUE_LINES} more lines", style="dim")]
    if note and lines:
        lines[-1].append(f"  {note}", style="dim")
    return lines


def error_lines(message: str, traceback: str = "") -> list[Text]:
    """The traceback ends in the message; without one, the message."""
    lines = traceback.rstrip().splitlines() if traceback.strip() else message.splitlines()
    return [data(line.rstrip(), "red") for line in lines[-_MOST_VALUE_LINES:]]


def output_lines(kind: str, text: str) -> Iterator[Text]:
    """What the program printed, a log point's message, or what happened to the session."""
    for line in text.split("\n"):
        yield data(line.rstrip("\r").expandtabs(8), _OUTPUT_STYLE.get(kind, ""))


def thread_lines(threads: Sequence[DebugThread], selected: int | None, now_ns: int) -> Iterator[Text]:
    if not threads:
        yield Text("no threads are known", style="dim")
    for thread in threads:
        stopped = thread.state == "stopped"
        here = thread.threadId == selected
        yield row(
            Text(f"{'>' if here else ' '} {thread.threadId}", style="bold magenta" if here else ""),
            data(shorten(thread.name, 40)),
            Text(thread.state, style="bold magenta" if stopped else "green"),
            place(thread.file, thread.line, thread.function) if stopped else None,
            age(now_ns - thread.since_ns) if stopped and thread.since_ns is not None else None,
            data(f"task {thread.task_id[:16]}") if thread.task_id else None,
            Text("evaluates", style="yellow") if thread.busy is not None else None,
        )


def break_lines(breaks: Sequence[Breakpoint]) -> Iterator[Text]:
    if not breaks:
        yield Text("no breakpoints", style="dim")
    for one in breaks:
        yield row(
            Text(f"{one.number}"),
            data(f"{one.path}:{one.line}", "bold"),
            data(f"if {one.condition}") if one.condition else None,
            data(f"hit count {one.hitCondition}") if one.hitCondition else None,
            data(f"logs {one.logMessage!r}") if one.logMessage else None,
            None if one.enabled else Text("disabled", style="dim"),
            None if one.verified or not one.enabled else data(f"can't hit: {one.message or 'no code there'}", "red"),
            f"hits {one.hits}" if one.hits else None,
        )


def task_lines(tasks: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    if not tasks:
        yield Text("no asyncio loop runs in a stopped thread", style="dim")
    for task in tasks:
        current = task["state"] == "current"
        yield row(
            Text(">" if current else " ", style="bold magenta"),
            data(shorten(task["name"], 40)),
            data(shorten(task["coroutine"], 60)),
            place(task["file"], task["line"], None) if task["file"] else None,
            Text("stands here" if current else "waits for it" if task["state"] == "waiting" else "done"),
        )


def help_lines(commands: Mapping[str, tuple[str, str]], letters: Mapping[str, str]) -> Iterator[Text]:
    yield Text("Plain text is evaluated in the selected frame; statements are carried out.")
    heads = {name: f":{name} {takes}".rstrip() for name, (takes, _) in commands.items()}
    width = max(map(len, heads.values()))
    short = {name: letter for letter, name in letters.items() if letter != name}
    for name, (_, does) in commands.items():
        letter = f" ({short[name]})" if name in short else ""
        yield row(Text(f"{heads[name]:<{width}}", style="cyan"), Text(does + letter))
    yield Text(
        "The letters in brackets work alone on a line, unless the frame has a variable of that name. "
        "Ctrl-C ends the waiting, not what runs. Ctrl-D is :quit."
    )
