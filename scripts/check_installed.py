#!/usr/bin/env python3
"""Does `ray start --head` of the environment that runs this serve the page, answer `health` and please the doctor?

Run by the environment under test, from any folder; it starts a head on free ports and stops it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.cluster import RayCluster, wait_for


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        text: str = answer.read().decode()
    return text


def main() -> None:
    with RayCluster(num_cpus=1) as cluster:
        wait_for("the page", lambda: 'id="root"' in fetch(f"{cluster.url}/debug") or None, timeout=60)
        health = wait_for("the hub", lambda: json.loads(fetch(f"{cluster.url}/debug/api/v1/health")), timeout=60)
        command = [str(Path(sys.executable).parent / "raydebug"), "doctor", "--address", cluster.url]
        wait_for("the doctor", lambda: subprocess.run(command, env=cluster.env).returncode == 0, timeout=60, period=2)
    print(f"/debug is served; health: {json.dumps(health)}")


if __name__ == "__main__":
    main()
