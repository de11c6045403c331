"""A debuggee. It says on stdout, in a line of JSON each, its port and how fast its threads run."""

from __future__ import annotations

import json
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

CALLS, ROUNDS = 5_000, 20


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def small(number: int) -> int:
    return number + 1


def speed() -> float:
    """The thread's own time on a core: what else the machine does isn't counted."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.thread_time()
        number = 0
        for _ in range(CALLS):
            number = small(number)
        best = min(best, time.thread_time() - start)
    return best


def marked() -> int:
    value = 41
    return value + 1  # a breakpoint is set here


work: queue.SimpleQueue[Any] = queue.SimpleQueue()
done: queue.SimpleQueue[Any] = queue.SimpleQueue()


def background() -> None:
    while True:
        function = work.get()
        if function is None:
            return
        done.put(function())


def in_background(function: Any) -> Any:
    work.put(function)
    return done.get()


def in_new(function: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()), name="new")
    thread.start()
    thread.join()
    return found[0]


def everywhere(pool: ThreadPoolExecutor, function: Any) -> dict[str, Any]:
    return {
        "main": function(),
        "pool": pool.submit(function).result(),
        "background": in_background(function),
        "new": in_new(function),
    }


def main() -> None:
    old = threading.Thread(target=background, name="old")
    old.start()
    with ThreadPoolExecutor(1, "pool") as pool:
        say(speed=everywhere(pool, speed), when="before debugpy")

        import debugpy

        _, port = debugpy.listen(("127.0.0.1", 0))
        say(port=port)
        debugpy.wait_for_client()
        numbers = list(range(50_000))
        text = "é" * 200_000
        nested = {"a": [1, {"b": 2}], "numbers": numbers}
        debugpy.breakpoint()
        say(speed=everywhere(pool, speed), when="after continue")
        debugpy.breakpoint()
        say(speed=everywhere(pool, speed), when="freed")
        debugpy.breakpoint()
        say(marked=everywhere(pool, marked))
        debugpy.breakpoint()
        say(speed=everywhere(pool, speed), when="freed again")
        say(ended=[len(numbers), len(text), len(nested)])
    work.put(None)


if __name__ == "__main__":
    main()
