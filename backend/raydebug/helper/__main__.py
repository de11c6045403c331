"""``python -m raydebug.helper --socket PATH``: one per node, started by our module in Ray's node agent.

The first line of stdin is JSON: ``node_id``, ``secret``, ``session_dir``, ``log_dir``, ``events_socket``,
``worker_socket``. Its end-of-file ends the helper.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time

from raydebug.helper.begin import begin


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


def main(argv: list[str]) -> None:
    start_ns = time.time_ns()
    _step_back()
    _raise_file_limit()
    socket_path, greeting = begin("raydebug.helper", argv)

    from raydebug.helper.facts import Facts
    from raydebug.helper.server import Helper

    helper = Helper(node_id=greeting["node_id"], secret=greeting["secret"], facts=Facts(start_ns))
    logging.info("helper of node %s starts, pid %d", greeting["node_id"], os.getpid())
    asyncio.run(helper.serve(socket_path, greeting.get("events_socket"), greeting.get("worker_socket")))


if __name__ == "__main__":
    main(sys.argv[1:])
