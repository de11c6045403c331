"""A breakpoint is hit -> it is on the page with its file and line, on a real cluster.

The page is a websocket client of the dashboard's port. The peer watches the same hits: Ray's state API (what
``ray list workers --detail`` asks), polled once a second, sees that a worker is paused, not where.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

from tests.bench.figures import percentile, say, summary
from tests.bench.protocol import Row
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.page import PausedWatcher
from tests.support.plugin import plugin_in

JOB = Path(__file__).parent / "jobs" / "hits.py"
HITS, FRESH, BATCH = 30, 10, 5
STATE_API = "/api/v0/workers?detail=1&filter_keys=num_paused_threads&filter_predicates=%21%3D&filter_values=0"


class StateApi:
    """Asks Ray once a second which workers are paused; notes when each was first seen."""

    def __init__(self, url: str) -> None:
        self._url = url + STATE_API
        self.seen: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(1):
            with urllib.request.urlopen(self._url, timeout=30) as answer:
                rows = json.load(answer)["data"]["result"]["result"]
            for row in rows:
                if row["num_paused_threads"]:
                    self.seen.setdefault(row["worker_id"], time.time_ns())

    def close(self) -> None:
        self._stop.set()
        self._thread.join(30)


class Job:
    def __init__(self, cluster: RayCluster, hits: Path) -> None:
        self._hits = hits
        self._proc = subprocess.Popen(
            [cluster.python, str(JOB), str(hits)],
            env={**cluster.env, "RAY_ADDRESS": cluster.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._await("READY")

    def _await(self, word: str) -> None:
        assert self._proc.stdout
        while not (line := self._proc.stdout.readline()).startswith(word):
            assert line, "the job ended"

    def tell(self, line: str) -> None:
        assert self._proc.stdin
        self._proc.stdin.write(line + "\n")
        self._proc.stdin.flush()
        self._await("DONE")

    def hits(self) -> list[tuple[str, int, int]]:
        """Worker, when it came to its breakpoint, when Ray's debugger was ready there."""
        lines = self._hits.read_text().splitlines() if self._hits.exists() else []
        return [(worker, int(at), int(ready)) for worker, at, ready in (line.split() for line in lines)]

    def stop(self) -> None:
        self._proc.kill()
        self._proc.wait()


def bench() -> list[Row]:
    plugin_in()
    with RayCluster() as cluster, tempfile.TemporaryDirectory() as name:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        job = Job(cluster, Path(name) / "hits")
        page = PausedWatcher(cluster.url)
        peer = StateApi(cluster.url)
        late: dict[str, dict[str, list[float]]] = {"hit": defaultdict(list), "fresh": defaultdict(list)}
        try:
            for number, word in enumerate(["hit"] * HITS + ["fresh"] * FRESH):
                if number % BATCH == 0:
                    job.tell("kill")
                    if word == "hit":
                        job.tell(f"warm {BATCH}")
                    time.sleep(2)
                time.sleep(random.random())
                before = len(job.hits())
                job.tell(word)
                ((worker, at, ready),) = wait_for("the hit", lambda: job.hits()[before:], period=0.01)  # noqa: B023
                came, site = wait_for("the place", lambda: page.placed.get(worker), period=0.01)  # noqa: B023
                assert site.file == str(JOB), site
                found = next(member.since_ns for member in site.members if member.worker_id == worker)
                times = late[word]
                times["hit -> on the page"].append((came - at) / 1e6)
                times["of that: Ray opens its debugger in the worker"].append((ready - at) / 1e6)
                times["then: the hub sees it in the GCS"].append((found - ready) / 1e6)
                times["then: placed and on the page"].append((came - found) / 1e6)
                times["from Ray's debugger on"].append((came - ready) / 1e6)
                peer_at = wait_for("Ray's answer", lambda: peer.seen.get(worker))  # noqa: B023
                times["peer"].append((peer_at - at) / 1e6)
                times["peer from Ray's debugger on"].append((peer_at - ready) / 1e6)
        finally:
            page.close()
            peer.close()
            job.stop()
    for word, title in (("hit", "idle actors"), ("fresh", "first calls of new actors")):
        say(f"{title}:")
        for name, values in late[word].items():
            say(f"  {summary(name, values)}")
    warm, fresh = late["hit"], late["fresh"]
    state_api = "Ray's state API, polled every 1 s (no place)"

    def row(name: str, ours: str, theirs: str, share: float, budget: str = "") -> Row:
        return Row(name, percentile(warm[ours], share), "ms", percentile(warm[theirs], share), state_api, budget)

    return [
        row("breakpoint hit -> on the page with its place, p50", "hit -> on the page", "peer", 0.5),
        row("the same, p95", "hit -> on the page", "peer", 0.95, "< 1000 ms"),
        row("without the time in which Ray opens its debugger in the worker, p95", "from Ray's debugger on",
            "peer from Ray's debugger on", 0.95),
        Row("the same in new actors' first calls, p95", percentile(fresh["from Ray's debugger on"], 0.95), "ms"),
    ]  # fmt: skip
