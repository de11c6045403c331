"""``python -m raydebug.helper --socket PATH``: one per node, started by our module in Ray's node agent.

The first line of stdin is JSON: ``node_id``, ``secret``, ``session_dir``, ``log_dir``, ``events_socket``,
``worker_socket``. Its
end-of-file ends the helper.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
import time


def _step_back() -> None:
    """When memory or the processor is short, training goes first and we go."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")
    with contextlib.suppress(OSError):
        os.nice(10)


def _raise_file_limit() -> None:
    """Each watched process keeps one file open."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(65536, hard)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def main(argv: list[str]) -> int:
    start_ns = time.time_ns()
    if len(argv) != 2 or argv[0] != "--socket":
        print("usage: python -m raydebug.helper --socket PATH", file=sys.stderr)
        return 2
    _step_back()
    _raise_file_limit()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        line = stdin.readline()
    if not line:
        return 0
    greeting = json.loads(line)
    threading.Thread(target=_end_with_stdin, name="stdin", daemon=True).start()

    from .facts import Facts
    from .server import Helper

    helper = Helper(node_id=greeting["node_id"], secret=greeting["secret"], facts=Facts(start_ns))
    logging.info("helper of node %s starts, pid %d", greeting["node_id"], os.getpid())
    asyncio.run(helper.serve(argv[1], greeting.get("events_socket"), greeting.get("worker_socket")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
