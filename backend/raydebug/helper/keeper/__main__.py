"""``python -m raydebug.helper.keeper --socket PATH``: started by our module in Ray's node agent.

The first line of stdin is JSON: ``node_id``, ``secret``. Its end-of-file ends the keeper, and with it the sessions.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time

from raydebug.helper.begin import begin


def main(argv: list[str]) -> None:
    start_ns = time.time_ns()
    socket_path, greeting = begin("raydebug.helper.keeper", argv)

    from raydebug.helper.keeper.server import Keeper

    keeper = Keeper(node_id=greeting["node_id"], secret=greeting["secret"], start_ns=start_ns)
    logging.info("keeper of node %s starts, pid %d", greeting["node_id"], os.getpid())
    asyncio.run(keeper.serve(socket_path))


if __name__ == "__main__":
    main(sys.argv[1:])
