"""A debuggee that stops in a function, and then says what became of its variables, in a line of JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

COUNTER = 1


def say(**what: Any) -> None:
    print(json.dumps(what, default=repr), flush=True)


def own(names: dict[str, Any]) -> list[str]:
    return sorted(names)


def generates(number: int) -> Iterator[str]:
    import debugpy

    debugpy.breakpoint()
    yield f"{number}"


async def awaits(word: str) -> str:
    import debugpy

    await asyncio.sleep(0)
    debugpy.breakpoint()
    return word


def work(number: int) -> None:
    import debugpy

    text, gone, cell, kept, walked = "text", "gone", "cell", "kept", "walked"

    def closes() -> str:
        return cell

    debugpy.breakpoint()
    try:
        there = gone
    except UnboundLocalError:
        there = "deleted"
    try:
        closed = closes()
    except NameError:
        closed = "deleted"
    say(text=text, number=number, there=there, closed=closed, kept=kept, walked=walked, counter=COUNTER)


def main() -> None:
    import debugpy

    _, port = debugpy.listen(("127.0.0.1", 0))
    say(port=port)
    debugpy.wait_for_client()
    work(1)
    say(generated=list(generates(1)), awaited=asyncio.run(awaits("word")))
    module = "module"
    debugpy.breakpoint()
    say(module=module, ended=True)


if __name__ == "__main__":
    main()
