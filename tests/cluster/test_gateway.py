"""The gateway in a real dashboard, with a stand-in for the hub."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import agent_of, command, ours, plugin_in, with_stand_in
from tests.support.rays import OLD


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    plugin_in()
    with RayCluster(num_cpus=1, env=with_stand_in()) as running:
        yield running


def get(url: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read(), dict(error.headers)


def hub_says(cluster: RayCluster) -> dict[str, Any]:
    status, body, _ = get(cluster.url + "/debug/x")
    assert status == 200, body
    found: dict[str, Any] = json.loads(body)
    return found


def dashboard(cluster: RayCluster) -> psutil.Process:
    return next(p for p in cluster.processes() if "dashboard/dashboard.py" in command(p))


def test_routes(cluster: RayCluster) -> None:
    seen = wait_for("the hub", lambda: hub_says(cluster))
    assert seen["path"] == "/debug/x"
    assert seen["argv"][seen["argv"].index("--dashboard-url") + 1] == cluster.url
    assert seen["argv"][seen["argv"].index("--session-dir") + 1] == str(cluster.session_dir)
    assert get(cluster.url + "/debug")[0] == 200
    request = urllib.request.Request(cluster.url + "/debug/act", data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert json.loads(answer.read())["method"] == "POST"
    # Ray's own rule: a browser changes nothing by HTTP
    assert get(cluster.url + "/debug/x", **{"User-Agent": "Mozilla/5.0"})[0] == 200


async def test_websocket_both_ways(cluster: RayCluster) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(cluster.url + "/debug/ws", max_msg_size=0) as ws:
        for size in (1, 70_000, 20_000_000):
            data = os.urandom(size)
            await ws.send_bytes(data)
            assert (await ws.receive()).data == data


def test_a_slow_viewer_costs_no_memory(cluster: RayCluster) -> None:
    process = dashboard(cluster)
    before = process.memory_info().rss
    viewers = []
    for _ in range(5):
        viewer = socket.create_connection(("127.0.0.1", cluster.dashboard_port))
        viewer.sendall(
            b"GET /debug/pump?chunks=16000 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        viewers.append(viewer)  # and never read: a gigabyte waits in the hub for each
    last = -1

    def stalled() -> bool:
        nonlocal last
        now, last_one = int(hub_says(cluster)["sent"]), last
        last = now
        return now > 0 and now == last_one

    wait_for("the hub to stop sending", stalled, period=0.5)
    assert process.memory_info().rss - before < 50 << 20
    for viewer in viewers:
        viewer.close()


def test_a_killed_hub_is_back_within_3_s(cluster: RayCluster) -> None:
    old = int(wait_for("the hub", lambda: hub_says(cluster))["pid"])
    killed = time.monotonic()
    os.kill(old, signal.SIGKILL)
    wait_for("the next hub", lambda: hub_says(cluster)["pid"] != old, period=0.02)
    assert time.monotonic() - killed < 3
    assert get(cluster.url + "/api/version")[0] == 200


def test_a_hub_that_always_crashes() -> None:
    plugin_in()
    with RayCluster(num_cpus=1, env=with_stand_in(STAND_IN_CRASH="1")) as cluster:
        agent_of(cluster)

        def failing() -> str | None:
            status, body, _ = get(cluster.url + "/debug", Accept="text/html")
            assert status == 503
            return body.decode() if "kept running" in body.decode() else None

        page = wait_for("the gateway to give up trying fast", failing, period=0.3)
        assert "exit status 7" in page
        assert "&lt;b&gt;stand-in: I always crash&lt;/b&gt;" in page
        # for those who may not be at the machine, no log
        assert "stand-in" not in get(cluster.url + "/debug", Accept="text/html", Host="evil.example")[1].decode()
        forwarded = {"Accept": "text/html", "X-Forwarded-For": "1.2.3.4"}
        assert "stand-in" not in get(cluster.url + "/debug", **forwarded)[1].decode()
        status, body, headers = get(cluster.url + "/debug/api/v1/health")
        assert status == 503
        assert json.loads(body)["error"]["code"] == "hub_down"
        assert headers["Retry-After"] == "2"
        began = time.monotonic()
        assert get(cluster.url + "/api/version")[0] == 200
        assert time.monotonic() - began < 2


def test_the_end_of_ray_is_the_end_of_ours() -> None:
    plugin_in()
    with RayCluster(num_cpus=1, env=with_stand_in()) as cluster:
        agent_of(cluster)
        wait_for("hub and helper", lambda: hub_says(cluster) and len(ours(cluster)) == 2)
        left = ours(cluster)
        (hub,) = [p for p in left if "raydebug.helper" not in command(p)]
        # as hard as it gets: nobody is told, nothing is cleaned up
        dashboard(cluster).kill()
        wait_for("the hub's end", lambda: not command(hub), timeout=10)
        # and as a user does it
        cluster.stop_gently()
        # a container's process 1 may be slow to collect its orphans: what is a zombie has ended
        wait_for("their end", lambda: not any(command(p) for p in left), timeout=10)


def test_token_mode(tmp_path: Path) -> None:
    plugin_in()
    token = tmp_path / "token"
    token.write_text("t" * 64)
    env = with_stand_in(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token))
    with RayCluster(num_cpus=1, env=env) as cluster:
        wait_for("the hub", lambda: get(cluster.url + "/debug")[0] == 200)

        def route(path: str, **headers: str) -> str:
            status, body, _ = get(cluster.url + path, **headers)
            assert status == 200, (status, body)
            return str({k.lower(): v for k, v in json.loads(body)["headers"]}["x-raydebug-route"])

        bearer = {"Authorization": "Bearer " + "t" * 64}
        assert route("/debug") == "shell"
        assert route("/debug/assets/x.js") == "shell"
        assert route("/debug/assets/x.js", **bearer) == "shell"
        assert route("/debug/api/v1/health", **bearer) == "ray-auth"
        assert route("/debug/api/v1/health", **{"X-Ray-Authorization": bearer["Authorization"]}) == "ray-auth"
        assert route("/debug/x", Cookie="ray-authentication-token=" + "t" * 64) == "ray-auth"
        for path in ("/debug/api/v1/health", "/debug/", "/debug/ws", "/debug/assets", "/nodes?view=summary"):
            assert get(cluster.url + path)[0] == 401, path
        assert get(cluster.url + "/debug/assets/%2e%2e/api/v1/health")[0] in (400, 401)
        assert get(cluster.url + "/debug/x", Authorization="Bearer wrong")[0] == 403
        spoofed = {"X-Raydebug-Route": "ray-auth"}
        assert route("/debug", **spoofed) == "shell"
        assert get(cluster.url + "/debug/x", **spoofed)[0] == 401


@pytest.mark.parametrize("python", OLD)
def test_old_rays(python: str) -> None:
    plugin_in(python)
    with RayCluster(num_cpus=1, python=python, env=with_stand_in(python)) as cluster:
        wait_for("the hub", lambda: hub_says(cluster))
        agent = agent_of(cluster)
        assert get(agent.url + "/raydebug/helper")[0] == 426
        old = int(hub_says(cluster)["pid"])
        os.kill(old, signal.SIGKILL)
        wait_for("the next hub", lambda: hub_says(cluster)["pid"] != old, period=0.02, timeout=3)

        async def echo() -> None:
            async with aiohttp.ClientSession() as session, session.ws_connect(cluster.url + "/debug/ws") as ws:
                await ws.send_bytes(b"x" * 1_000_000)
                assert len((await ws.receive()).data) == 1_000_000

        asyncio.run(echo())
