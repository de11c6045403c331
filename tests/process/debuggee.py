"""A process that stops at ``breakpoint()`` again and again, as a worker does, and does what it is told on stdin.

It says on stdout, in a line of JSON each, its port and what happened. Told: ``print TEXT``, ``flood N`` (lines),
``long N`` (characters in one line), ``rest`` (come to no breakpoint any more), ``streams`` (say what stdout is),
``end``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

out = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # debugpy's adapter would hold the pipe open


def say(**what: Any) -> None:
    out.write(json.dumps(what) + "\n")


resting = threading.Event()


def turn() -> None:
    time.sleep(0.01)  # one turn


def obey() -> None:
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "print":
            print(rest, flush=True)
        elif word == "flood":
            for number in range(int(rest)):
                print(f"line {number}")
        elif word == "long":
            print("x" * int(rest), flush=True)
        elif word == "rest":
            resting.set()
        elif word == "streams":
            say(stdout=type(sys.stdout).__name__, stderr=type(sys.stderr).__name__)
        elif word == "end":
            os._exit(0)
        say(done=word)


def main() -> None:
    import debugpy

    _, port = debugpy.listen(("127.0.0.1", 0))
    threading.Thread(target=obey, name="obeys", daemon=True).start()
    say(port=port, pid=os.getpid())
    round_number = 0
    items = list(range(1000))
    while True:
        round_number += 1
        say(waits=round_number)
        debugpy.wait_for_client()
        breakpoint()  # here
        traced = sys.gettrace() is not None
        say(went_on=round_number, traced=traced, items=len(items))
        time.sleep(0.05)
        while resting.is_set():
            turn()


if __name__ == "__main__":
    main()
