"""How a process of ours on a node begins, and ends with Ray's agent, which started it."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from typing import Any


def begin(module: str, argv: list[str]) -> tuple[str, dict[str, Any]]:
    """The path of its socket, of the command line, and the greeting: the first line of stdin, JSON.

    Raises SystemExit where there are none. From now on the end of stdin ends the process.
    """
    if len(argv) != 2 or argv[0] != "--socket":
        print(f"usage: python -m {module} --socket PATH", file=sys.stderr)
        raise SystemExit(2)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        line = stdin.readline()
    if not line:
        raise SystemExit(0)
    threading.Thread(target=_end_with_stdin, name="stdin", daemon=True).start()
    return argv[1], json.loads(line)


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)
