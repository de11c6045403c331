"""A debuggee whose functions have breakpoints of their own, and that stops in a function, then at an exception.

It says on stdout, in a line of JSON each, its port and how far it has come.
"""

from __future__ import annotations

import asyncio
import json
import pdb
import sys
import threading
from typing import Any

from tests.process.postmortem_debugpy import _debugpy_excepthook


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


go, hold = threading.Event(), threading.Event()


def has_breakpoint() -> int:
    number = 20
    breakpoint()  # its own
    return number + 1


def has_debugpys() -> int:
    import debugpy

    debugpy.breakpoint()
    return 22


def has_pdbs() -> int:
    pdb.set_trace()
    return 23


class Shy:
    def __repr__(self) -> str:
        breakpoint()
        return "shy"


async def has_one_and_awaits() -> int:
    await asyncio.sleep(0)
    breakpoint()
    return 24


def marked() -> int:
    value = 41
    return value + 1  # a breakpoint is set here


def beside() -> None:
    while True:
        go.wait()
        go.clear()
        breakpoint()  # beside
        say(beside="went on")


def work(number: int) -> list[Any]:
    import debugpy

    text, more = "text", [1, 2]
    shy = Shy()
    debugpy.breakpoint()
    steps = [number]
    steps.append(2)  # stops here
    steps.append(3)
    say(steps=steps)
    debugpy.breakpoint()
    steps.append(4)  # again
    return [text, more, shy is not None, sorted(locals())]


def main() -> None:
    import debugpy

    threading.Thread(target=beside, name="beside", daemon=True).start()
    _, port = debugpy.listen(("127.0.0.1", 0))
    say(port=port)
    debugpy.wait_for_client()
    say(worked=work(1))
    try:
        raise ValueError(sys.gettrace() is not None)
    except ValueError:
        _debugpy_excepthook()
    say(ended=True)


if __name__ == "__main__":
    main()
