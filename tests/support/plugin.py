"""What tests of the plugin and the helper share."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psutil
from aiohttp import web

from raydebug.api.names import AGENT_HELPER_PATH, KV_NAMESPACE, KV_SECRET
from raydebug.cli.install import place, site_of_interpreter
from raydebug.plugin.splice import NoUpstream, splice
from tests.support.cluster import RayCluster, wait_for

STAND_IN = Path(__file__).with_name("stand_in_hub.py")

_ASK_GCS = """
import json, sys
from ray._raylet import GcsClient
from ray._private import ray_constants
gcs = GcsClient(address=sys.argv[1])
space = ray_constants.KV_NAMESPACE_DASHBOARD
keys = gcs.internal_kv_keys(b"DASHBOARD_AGENT", space, timeout=5)
agents = {k.decode(): gcs.internal_kv_get(k, namespace=space, timeout=5).decode() for k in keys}
secret = gcs.internal_kv_get(sys.argv[2].encode(), namespace=sys.argv[3].encode(), timeout=5)
print(json.dumps([agents, secret.decode() if secret else None]))
"""


def plugin_in(python: str = sys.executable) -> None:
    """Lay the module file down in this interpreter's Ray, as the wheel does."""
    site = site_of_interpreter(None if python == sys.executable else python)
    assert site is not None, f"no Ray for {python}"
    place(site)


def with_stand_in(python: str = sys.executable, **more: str) -> dict[str, str]:
    """Environment of a cluster whose gateway starts the stand-in hub."""
    return {"RAYDEBUG_HUB_COMMAND": f"{python} {STAND_IN}", **more}


@dataclass(frozen=True)
class Agent:
    node_id: str
    url: str
    secret: str


def agent_of(cluster: RayCluster) -> Agent:
    """The head's agent, once it has published itself and its helper's secret."""

    def ask() -> Agent:
        command = [cluster.python, "-c", _ASK_GCS, cluster.address, KV_SECRET.decode(), KV_NAMESPACE.decode()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=cluster.env)
        assert done.returncode == 0, done.stderr
        agents, secret = json.loads(done.stdout.splitlines()[-1])
        assert secret
        key = next(k for k in agents if len(k.rpartition(":")[2]) == 56)
        where = json.loads(agents[key])
        # Ray 2.41 publishes [http port, grpc port] only
        ip, port = (where[0], where[1]) if len(where) == 3 else ("127.0.0.1", where[0])
        return Agent(key.rpartition(":")[2], f"http://{ip}:{port}", secret)

    return wait_for("the agent in the GCS", ask, timeout=60, period=0.3)


def ours(cluster: RayCluster) -> list[psutil.Process]:
    """Hub and helper processes of this cluster."""
    return [p for p in cluster.processes() if _is_ours(p)]


def command(process: psutil.Process) -> str:
    """Its command line; nothing for one that has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _is_ours(process: psutil.Process) -> bool:
    line = command(process)
    return "raydebug.helper" in line or "raydebug.hub" in line or STAND_IN.name in line


@contextlib.contextmanager
def helper_process(socket: Path, *, node_id: str, secret: str, **sockets: str) -> Iterator[subprocess.Popen[bytes]]:
    """A real helper, without Ray. ``sockets``: ``events_socket``, ``worker_socket``."""
    child = subprocess.Popen(
        [sys.executable, "-m", "raydebug.helper", "--socket", str(socket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "RAY_DEBUG": "1"},
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        line = {"node_id": node_id, "secret": secret, "session_dir": "/", "log_dir": "/", **sockets}
        child.stdin.write(json.dumps(line).encode() + b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"ready\n"
        yield child
    finally:
        child.stdin.close()
        try:
            child.wait(5)
        finally:
            child.kill()
            child.stdout.close()


def runner_of(app: web.Application) -> web.AppRunner:
    """One that doesn't wait long for handlers at its end; before aiohttp 3.9 runners knew no such limit."""
    if aiohttp.__version__.startswith("3.8."):
        return web.AppRunner(app)
    return web.AppRunner(app, shutdown_timeout=0.5)


@contextlib.asynccontextmanager
async def small_agent(socket: Path) -> AsyncIterator[str]:
    """A server that does what our module in Ray's agent does with the hub's connection; yields its URL."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            raw = [(n, v) for n, v in request.raw_headers if n.lower().startswith((b"host", b"sec-websocket"))]
            return await splice(request, str(socket), AGENT_HELPER_PATH, raw)
        except NoUpstream as error:
            return web.Response(status=503, text=str(error))

    app = web.Application()
    app.router.add_get(AGENT_HELPER_PATH, handle)
    runner = runner_of(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
