"""Run by test_postmortem.py under each Python found: raises in many ways and freezes in every ``except`` block.

Prints a number, then as many lines of JSON, one per thread, what a reader from outside must find.
Ends when its standard input does. Needs nothing but the standard library.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import TracebackType


class Outer:
    class InnerError(Exception):
        pass

    def method(self) -> None:
        raise Outer.InnerError("é in latin")

    @staticmethod
    def static() -> None:
        raise RuntimeError(
            "on the third line",
        )


class SubError(OSError):
    pass


class SubKeyError(KeyError):
    pass


class Text(str):
    pass


InnerError = Outer.InnerError
Placed = type("Placed", (ValueError,), {f"field{i}": i for i in range(40)} | {"__module__": "a.package"})


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def with_cause() -> None:
    try:
        {}["missing"]  # type: ignore[index]
    except KeyError as error:
        raise ValueError("because of it") from error


def with_context() -> None:
    try:
        raise KeyError("first")
    except KeyError:
        int("second")


def with_notes() -> None:
    error = ValueError("noted")
    if sys.version_info >= (3, 11):
        error.add_note("a note")
    raise error


def deep(n: int = 700) -> None:
    if n:
        deep(n - 1)
    raise RecursionError("deep enough")


def in_c() -> None:
    json.loads("[1, }")


def in_c_callback() -> None:
    sorted([3, 1, 2], key=lambda n: 1 / (n - 1))


def generated() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise ArithmeticError("in a generator")

    list(numbers())


def no_file() -> None:
    os.stat("/no/such/file")


CASES: dict[str, Callable[[], None]] = {
    "plain": raising(ValueError("plain")),
    "empty": raising(ValueError()),
    "several arguments": raising(ValueError("a", 1, None, (True, b"\0x", 2.5, -7, 1 << 90))),
    "method": lambda: Outer().method(),
    "several lines": Outer.static,
    "kanji": raising(ValueError("漢字 " * 20)),
    "emoji": raising(ValueError("😀 " * 20)),
    "surrogate": raising(ValueError("\udc80 lone")),
    "huge": raising(ValueError("x" * 10_000_000)),
    "huge emoji": raising(ValueError("😀" * 100_000)),
    "key": raising(SubKeyError("it's")),
    "number": raising(ValueError(-(2**40))),
    "huge number": raising(ValueError(1 << 5000)),
    "object": raising(ValueError(object())),
    "text's subclass": raising(ValueError(Text("kept elsewhere"))),
    "os": no_file,
    "os without a file": raising(SubError(11, "again")),
    "cause": with_cause,
    "context": with_context,
    "notes": with_notes,
    "deep": deep,
    "C": in_c,
    "C callback": in_c_callback,
    "generator": generated,
    "exit": raising(SystemExit(3)),
    "placed": raising(Placed("far back in its dictionary")),
}

# Differ from str(exception), as documented.
SHOWN = {
    "huge number": "<int object>",
    "object": "<object object>",
    "text's subclass": "<Text object>",
    "surrogate": "? lone",
}

done = threading.Event()
printing = threading.Lock()


def say(truth: dict[str, object]) -> None:
    with printing:
        print(json.dumps(truth), flush=True)


def freeze(case: str, error: BaseException) -> None:
    frames = []
    tb: TracebackType | None = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        name = getattr(code, "co_qualname", code.co_name)  # from 3.11 on
        frames.append({"function": name, "file": code.co_filename, "line": tb.tb_lineno})
        tb = tb.tb_next
    cls = type(error)
    module = "" if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}."
    truth: dict[str, object] = {
        "case": case,
        "thread_id": threading.get_ident(),
        "type_name": module + cls.__qualname__,
        "message": SHOWN.get(case) or str(error),
        "frames": frames,
    }
    say(truth)
    done.wait()


def in_thread(case: str, body: Callable[[], None]) -> None:
    try:
        with contextlib.suppress(ValueError):
            int("handled and done with before")
        body()
    except BaseException as error:
        with contextlib.suppress(KeyError):
            # Handled and done with while the other is being handled.
            {}["x"]  # type: ignore[index]
        freeze(case, error)


def in_generator(case: str, body: Callable[[], None]) -> None:
    def generator() -> Iterator[None]:
        try:
            body()
        except BaseException as error:
            freeze(case, error)
        yield

    next(generator())


def below_generators(case: str, body: Callable[[], None]) -> None:
    """The innermost items of the stack of exceptions are empty: running generators that handle none."""

    def generator(depth: int, error: BaseException) -> Iterator[None]:
        if depth:
            yield from generator(depth - 1, error)
        freeze(case, error)
        yield

    try:
        body()
    except BaseException as error:
        next(generator(3, error))


def in_coroutine(case: str, body: Callable[[], None]) -> None:
    async def handler() -> None:
        try:
            await asyncio.sleep(0)
            body()
        except BaseException as error:
            freeze(case, error)

    asyncio.run(handler())


def idle() -> None:
    say({"case": "idle", "thread_id": threading.get_ident()})
    done.wait()


def until_told() -> None:
    sys.stdin.read()
    done.set()


threads = [threading.Thread(target=until_told), threading.Thread(target=idle)]
threads += [threading.Thread(target=in_thread, args=item) for item in CASES.items()]
for handler in (in_generator, below_generators, in_coroutine):
    threads.append(threading.Thread(target=handler, args=(handler.__name__, CASES["method"])))
# All but the first have something to say, and the main thread.
print(len(threads), flush=True)
for thread in threads:
    thread.start()
in_thread("main", CASES["C"])
