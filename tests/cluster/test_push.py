"""Push on a real cluster: the same as pull, task by task; and nothing lost unseen when helper or hub are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from raydebug import ray_compat
from raydebug.api.helper import Events
from raydebug.hub.model.timeline.store import TaskStore
from raydebug.hub.nodes.dial import NodeAddress
from raydebug.hub.sources.helpers import Helpers
from raydebug.ray_compat import Gcs, TaskReader, read_ray_events
from tests.cluster.test_truth import DIARY, read_runs
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import agent_of, ours, plugin_in, with_stand_in
from tests.unit.hub.timeline.test_store import contents

TASKS = 2000


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Any]:
    """Starts the job that keeps a diary; ends it with the test."""
    drivers: list[subprocess.Popen[str]] = []

    def start(cluster: RayCluster) -> subprocess.Popen[str]:
        driver = subprocess.Popen(
            [cluster.python, str(DIARY), str(tmp_path), "--tasks", str(TASKS)],
            env={**cluster.env, "RAY_ADDRESS": cluster.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        drivers.append(driver)
        return driver

    yield start
    for driver in drivers:
        driver.kill()
        driver.wait()


def written(driver: subprocess.Popen[str]) -> None:
    assert driver.stdout
    while not (line := driver.stdout.readline()).startswith("WRITTEN"):
        assert line, "the job ended before its time"


async def test_push_and_pull_tell_the_same(diary: Any, tmp_path: Path) -> None:
    plugin_in()
    with RayCluster(num_cpus=2, push=True, env=with_stand_in()) as cluster:
        agent = await asyncio.to_thread(agent_of, cluster)
        pushed, pulled = TaskStore(), TaskStore()

        async def secret() -> str:
            return agent.secret

        def came(node_id: str, events: Events) -> None:
            dropped.append(events.dropped_agent + events.dropped_helper)
            for data in events.data:
                batch, unreadable = read_ray_events(data)
                assert unreadable == 0
                pushed.apply(batch)
            number = events.first + len(events.data) - 1
            tasks.append(asyncio.ensure_future(helpers.ack_events(node_id, events.epoch, number)))

        tasks: list[asyncio.Future[None]] = []
        dropped: list[int] = []
        helpers = Helpers(secret, on_events=came)
        gcs = Gcs(cluster.address)
        try:
            await helpers.sync([NodeAddress(agent.node_id, agent.url)])
            await asyncio.to_thread(written, diary(cluster))
            runs = read_runs(tmp_path)
            deadline = time.monotonic() + 60
            while True:
                reader = TaskReader()
                for batch in reader.read(await gcs.task_events())[1]:
                    pulled.apply(batch)
                one, other = contents(pushed), contents(pulled)
                if one == other and len(one) >= len(runs):
                    break
                assert time.monotonic() < deadline, _differences(one, other)
                await asyncio.sleep(1)
            assert max(dropped) == 0
            assert {(bytes.fromhex(task_id), attempt) for task_id, attempt in runs} <= set(one)
        finally:
            await helpers.close()
            await gcs.close()


def _differences(one: dict[Any, Any], other: dict[Any, Any]) -> str:
    odd = [key for key in {*one, *other} if one.get(key) != other.get(key)]
    lines = [f"{key}: push {one.get(key)}, pull {other.get(key)}" for key in odd[:5]]
    return f"{len(odd)} of {len({*one, *other})} differ: " + "\n".join(lines)


def test_killed_helper_and_hub_lose_nothing(diary: Any, tmp_path: Path) -> None:
    plugin_in()
    with RayCluster(num_cpus=2, push=True) as cluster:
        wait_for("the hub", lambda: api.hub_pid(cluster.url))
        wait_for("push", lambda: api.tasks(cluster.url, limit=1).source == "push")
        driver = diary(cluster)
        wait_for("some tasks", lambda: len(list(tmp_path.glob("ran-*"))) >= 3)
        killed: list[str] = []
        for word in ("raydebug.helper", "raydebug.hub"):
            for process in ours(cluster):
                if word in " ".join(process.cmdline()):
                    os.kill(process.pid, signal.SIGKILL)
                    killed.append(word)
            assert driver.poll() is None
            time.sleep(1)
        assert set(killed) == {"raydebug.helper", "raydebug.hub"}
        written(driver)
        runs = read_runs(tmp_path)
        job = wait_for("the job", lambda: api.the_job(cluster.url, "diary.py")).job_id

        def all_there() -> bool:
            ended = {
                (task.task_id, task.attempt)
                for task in api.tasks(cluster.url, job).tasks
                if task.state in ("FINISHED", "FAILED")
            }
            return set(runs) <= ended

        wait_for("every attempt", all_there, timeout=120, period=1)
        wait_for("push again", lambda: api.tasks(cluster.url, limit=1).source == "push")


async def test_a_tee_that_raises_is_not_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("ray.dashboard.modules.aggregator.aggregator_agent")
    from ray.core.generated.events_event_aggregator_service_pb2 import AddEventsReply, AddEventsRequest

    monkeypatch.setattr(module.AggregatorAgent, "AddEvents", module.AggregatorAgent.AddEvents)
    seen = []

    def take(request: Any) -> None:
        seen.append(request)
        raise MemoryError

    assert ray_compat.tee_events(take) is None
    agent = SimpleNamespace(_event_processing_enabled=False)
    request = AddEventsRequest()
    assert await module.AggregatorAgent.AddEvents(agent, request, None) == AddEventsReply()
    assert seen == [request]
