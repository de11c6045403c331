"""``python -m raydebug.helper.keeper --socket PATH``: started by our module in Ray's node agent.

The first line of stdin is JSON: ``node_id``, ``secret``. Its end-of-file ends the keeper, and with it the sessions.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def main(argv: list[str]) -> int:
    start_ns = time.time_ns()
    if len(argv) != 2 or argv[0] != "--socket":
        print("usage: python -m raydebug.helper.keeper --socket PATH", file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        line = stdin.readline()
    if not line:
        return 0
    greeting = json.loads(line)
    threading.Thread(target=_end_with_stdin, name="stdin", daemon=True).start()

    from raydebug.helper.keeper.server import Keeper

    keeper = Keeper(node_id=greeting["node_id"], secret=greeting["secret"], start_ns=start_ns)
    logging.info("keeper of node %s starts, pid %d", greeting["node_id"], os.getpid())
    asyncio.run(keeper.serve(argv[1]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
