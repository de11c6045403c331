"""The first complete picture of many tasks beside Ray's own endpoints, and a task's change -> on the page.

The page is a websocket client of the dashboard's port that asks as the page does: tables, then the marks of all lanes.
"""

from __future__ import annotations

import random
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from websockets.sync.client import ClientConnection, connect

from raydebug.api.names import PROTOCOL
from raydebug.api.stream import Hello, HubMessage, Patch, QueryTasks, QueryTimeline, Reply, Subscribe
from raydebug.api.timeline import Marks, TimelineJob
from tests.bench.figures import percentile, say, summary
from tests.bench.protocol import Row
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in

JOB = Path(__file__).parent / "jobs" / "many.py"
CHANGES = 40
PIXELS = 1200

_decode = msgspec.msgpack.Decoder(HubMessage).decode


class Page:
    """What the page does for its first picture: says hello, subscribes, asks for the marks of all lanes."""

    def __init__(self, url: str) -> None:
        self.socket: ClientConnection = connect(url.replace("http", "ws") + "/debug/ws", max_size=1 << 28)
        self.job: TimelineJob | None = None
        self.lanes: list[str] = []
        self._say(Hello(protocol=PROTOCOL))
        self._say(Subscribe(topic="timeline"))

    def _say(self, message: msgspec.Struct) -> None:
        self.socket.send(msgspec.msgpack.encode(message))

    def hear(self, timeout: float = 60) -> HubMessage:
        frame = self.socket.recv(timeout)
        assert isinstance(frame, bytes)
        message = _decode(frame)
        if isinstance(message, Patch) and message.topic == "timeline":
            tables = message.tables
            if tables.timeline_jobs:
                self.job = max(tables.timeline_jobs.set, key=lambda row: row.job_id, default=self.job)
            if tables.lanes:
                self.lanes = sorted({*self.lanes, *(row.lane_id for row in tables.lanes.set)} - {*tables.lanes.drop})
        return message

    def picture(self) -> Marks:
        """All there is, as the page draws it with all lanes unfolded."""
        while self.job is None or self.job.first_ns is None:
            self.hear()
        end = (self.job.last_ns or 0) + 1
        query = QueryTimeline(
            id=1, job_id=self.job.job_id, lanes=self.lanes, from_ns=self.job.first_ns, to_ns=end, pixels=PIXELS
        )
        self._say(query)
        while not isinstance(answer := self.hear(), Reply):
            pass
        assert answer.marks, answer.error
        return answer.marks

    def see(self, job_id: str, task_id: str) -> int:
        """When this task is known to have ended; asks when the job's tasks change, as the page does."""
        version = -1
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            self.hear()
            if self.job is None or self.job.version == version:
                continue
            version = self.job.version
            self._say(QueryTasks(id=2, job_id=job_id, task_id=task_id))
            while not isinstance(answer := self.hear(), Reply):
                pass
            if answer.tasks and answer.tasks.tasks[0].end_ns:
                return time.time_ns()
        raise TimeoutError(task_id)

    def close(self) -> None:
        self.socket.close()


@contextmanager
def running(cluster: RayCluster, count: int) -> Iterator[subprocess.Popen[str]]:
    driver = subprocess.Popen(
        [cluster.python, str(JOB), str(count)],
        env={**cluster.env, "RAY_ADDRESS": cluster.address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert driver.stdout
    while not (line := driver.stdout.readline()).startswith("TOOK"):
        assert line, "the job ended"
    try:
        yield driver
    finally:
        driver.kill()
        driver.wait()


def settled(cluster: RayCluster, count: int) -> str:
    """The job's id, once all its calls are held."""

    def there() -> str | None:
        job = api.the_job(cluster.url, "many.py").job_id
        row = api.timeline(cluster.url, job, width=1).job
        return job if row.total >= min(count, 99_000) and row.running <= 1 else None

    return wait_for("all tasks", there, timeout=300, period=1)


def timed(url: str) -> tuple[float, int]:
    began = time.perf_counter()
    with urllib.request.urlopen(url, timeout=120) as answer:
        size = len(answer.read())
    return 1e3 * (time.perf_counter() - began), size


def first_picture(cluster: RayCluster, count: int) -> list[Row]:
    with running(cluster, count):
        job = settled(cluster, count)
        took = []
        for _ in range(7):
            began = time.perf_counter()
            page = Page(cluster.url)
            found = page.picture()
            took.append(1e3 * (time.perf_counter() - began))
            page.close()
        held = sum(lane.tasks for lane in found.lanes if not lane.lane_id.startswith(("group:", "node:", "role:")))
        say(summary(f"{count} tasks: first picture ({held} attempts on {len(found.lanes)} lanes)", took))
        state, state_size = timed(f"{cluster.url}/api/v0/tasks?detail=1&limit=10000")
        trace, trace_size = timed(f"{cluster.url}/api/v0/tasks/timeline?job_id={job}")
        say(f"Ray's state API (10 000 of them): {state:.0f} ms, {state_size >> 20} MiB")
        say(f"Ray's timeline (10 000 of them): {trace:.0f} ms, {trace_size >> 20} MiB")
    ours = percentile(took, 0.5)
    name = f"first complete picture of {count:,} tasks".replace(",", " ")
    return [
        Row(name, ours, "ms", state, "Ray's /api/v0/tasks, 10 000 of them", "< 500 ms"),
        Row("the same", ours, "ms", trace, "Ray's /api/v0/tasks/timeline, 10 000 of them"),
    ]


def change(cluster: RayCluster, driver: subprocess.Popen[str], job: str, source: str) -> list[float]:
    assert driver.stdin
    assert driver.stdout
    page = Page(cluster.url)
    late = []
    for _ in range(CHANGES):
        time.sleep(random.random())
        driver.stdin.write("once\n")
        driver.stdin.flush()
        _, at, task_id = driver.stdout.readline().split()
        late.append((page.see(job, task_id) - int(at)) / 1e6)
    page.close()
    say(summary(f"change -> on the page, {source}", late))
    return late


def bench() -> list[Row]:
    plugin_in()
    late: dict[str, list[float]] = {}
    for source in ("pull", "push"):
        with RayCluster(num_cpus=2, push=source == "push") as cluster:
            wait_for("the hub", lambda: api.hub_pid(cluster.url))
            with running(cluster, 10_000) as driver:
                job = settled(cluster, 10_000)
                late[source] = change(cluster, driver, job, source)
    rows = []
    for share, name in ((0.5, "p50"), (0.95, "p95")):
        pull, push = percentile(late["pull"], share), percentile(late["push"], share)
        rows.append(Row(f"a call -> its end on the page, push, {name}", push, "ms", pull, "pull, 10 000 held",
                        "p95 < 400 ms; pull < 2 s" if share > 0.9 else ""))  # fmt: skip
    with RayCluster(num_cpus=2) as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        rows += first_picture(cluster, 20_000)
    with RayCluster(num_cpus=2) as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        rows += first_picture(cluster, 100_000)
    return rows
