#!/usr/bin/env python3
"""A real cluster for a program that isn't Python: starts one, prints where it is as one line of JSON, ends with stdin.

Its environment is the cluster's (``RAY_AUTH_MODE=token`` for example).
"""

from __future__ import annotations

import json
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.support.cluster import RayCluster, wait_for


def page_is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/debug/api/v1/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        return error.code == 401  # Ray's token mode: the hub may be up, only Ray's middleware answers


def main() -> None:
    # What ends the program that asked must end the cluster too, in the ordinary way.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with RayCluster(num_cpus=8) as cluster:
        wait_for("the page", lambda: page_is_up(cluster.url) or None, timeout=120, period=0.2)
        found = {"url": cluster.url, "address": cluster.address, "session_dir": str(cluster.session_dir)}
        print(json.dumps(found), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
