#!/usr/bin/env python3
"""Run a command beside a real cluster with the demo training on it: ``with_cluster.py COMMAND...``.

The command finds RAYDEBUG_URL (the page), RAY_ADDRESS (the GCS) and RAYDEBUG_SESSION_DIR; the ports are its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.cluster import RayCluster, wait_for


def page_is_up(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/debug/api/v1/health", timeout=5) as answer:
        return bool(answer.status == 200)


def main(command: list[str]) -> int:
    with RayCluster(num_cpus=8) as cluster, tempfile.TemporaryFile("w+") as log:
        wait_for("the page", lambda: page_is_up(cluster.url) or None, timeout=120, period=0.5)
        demo = subprocess.Popen(
            [str(Path(sys.executable).parent / "raydebug"), "demo", "--address", cluster.address],
            env=cluster.env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        found = {
            "RAYDEBUG_URL": f"{cluster.url}/debug",
            "RAY_ADDRESS": cluster.address,
            "RAYDEBUG_SESSION_DIR": str(cluster.session_dir),
        }
        try:
            status = subprocess.run(command, env={**os.environ, **found}, check=False).returncode
        finally:
            ended = demo.poll()
            demo.terminate()
            try:
                demo.wait(20)
            except subprocess.TimeoutExpired:
                demo.kill()
        if ended is not None:
            log.seek(0)
            print(f"the demo ended by itself with status {ended}:\n{log.read()[-4000:]}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
