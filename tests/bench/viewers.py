"""Many viewers of one hub, one of them stalled: what they cost, and how late patches are.

``python -m tests.bench.viewers --viewers 100 --actors 1024``: prints JSON. The budget: no viewer slows another, the hub
uses less than one core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
import msgspec
import psutil

from raydebug.api.names import PROTOCOL
from raydebug.api.stream import Hello, HubMessage, Patch, Subscribe
from raydebug.hub.app import Config, Hub
from raydebug.hub.model.store import Store
from tests.unit.hub import rows

_decoder = msgspec.msgpack.Decoder(HubMessage)


class Changing:
    """A source in which some actors do something else all the time."""

    name = "gcs"

    def __init__(self, actors: int, each: int, period_s: float) -> None:
        self.actors, self.each, self.period_s = actors, each, period_s

    async def run(self, store: Store) -> None:
        table = {f"{i:032x}": rows.actor(f"{i:032x}", group_id="g1", rank=i) for i in range(self.actors)}
        keys = list(table)
        turn = 0
        while True:
            table = dict(table)
            for n in range(self.each):
                key = keys[(turn * self.each + n) % self.actors]
                table[key] = msgspec.structs.replace(table[key], task_name=f"update_actor_{turn}", since_ns=turn)
            store.replace("actors", table)
            turn += 1
            await asyncio.sleep(self.period_s)


async def hub(directory: Path, actors: int, each: int, period_s: float) -> None:
    served = Hub(
        Config(gcs_address="x:1", session_dir=directory, socket=directory / "h.sock"),
        sources=[Changing(actors, each, period_s)],
    )
    await served.start()
    print("ready", flush=True)
    await asyncio.Event().wait()


async def viewer(session: aiohttp.ClientSession, lateness: list[float], until: float, compress: int) -> int:
    received = 0
    async with session.ws_connect("http://localhost/debug/ws", compress=compress, max_msg_size=1 << 26) as ws:
        for message in (Hello(protocol=PROTOCOL), Subscribe(topic="topology")):
            await ws.send_bytes(msgspec.msgpack.encode(message))
        while time.monotonic() < until:
            got = await ws.receive()
            if got.type is not aiohttp.WSMsgType.BINARY:
                break
            received += len(got.data)
            if len(lateness) < 200_000 and isinstance(heard := _decoder.decode(got.data), Patch):
                lateness.append(time.time() - heard.time_ns / 1e9)
    return received


def stall(path: Path) -> socket.socket:
    """A viewer that subscribes and never reads."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(str(path))
    sock.sendall(
        b"GET /debug/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    for message in (Hello(protocol=PROTOCOL), Subscribe(topic="topology")):
        data = msgspec.msgpack.encode(message)
        sock.sendall(bytes((0x82, 0x80 | len(data))) + bytes(4) + data)
    return sock


async def measure(given: argparse.Namespace, directory: Path, pid: int) -> dict[str, float]:
    lateness: list[float] = []
    process = psutil.Process(pid)
    connector = aiohttp.UnixConnector(str(directory / "h.sock"), limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        until = time.monotonic() + given.seconds + 2
        tasks = [
            asyncio.create_task(viewer(session, lateness if i < 5 else [0.0] * 200_000, until, given.compress))
            for i in range(given.viewers - given.stalled)
        ]
        await asyncio.sleep(2)
        stalled = [stall(directory / "h.sock") for _ in range(given.stalled)]
        first = process.cpu_times()
        start = time.monotonic()
        lateness.clear()
        received = sum(await asyncio.gather(*tasks))
        last = process.cpu_times()
        took = time.monotonic() - start
        async with session.get("http://localhost/debug/api/v1/metrics") as answer:
            text = await answer.text()
    for sock in stalled:
        sock.close()
    own = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line[0] != "#" and "{" not in line}
    lateness.sort()
    return {
        "viewers": given.viewers,
        "hub_cores": round((last.user + last.system - first.user - first.system) / took, 3),
        "patches_per_viewer_per_s": round(len(lateness) / took / 5, 2),
        "late_ms_p50": round(lateness[len(lateness) // 2] * 1000, 2),
        "late_ms_p99": round(lateness[int(len(lateness) * 0.99)] * 1000, 2),
        "received_mb": round(received / 1e6, 1),
        "rss_mb": round(process.memory_info().rss / 1e6, 1),
        **{name: own[f"raydebug_{name}"] for name in ("loop_lag_seconds", "skipped_total", "resyncs_total")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=100)
    parser.add_argument("--stalled", type=int, default=1)
    parser.add_argument("--actors", type=int, default=1024)
    parser.add_argument("--each", type=int, default=32, help="actors that change at a time")
    parser.add_argument("--period", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--compress", type=int, default=15)
    parser.add_argument("--hub", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.hub is not None:
        asyncio.run(hub(given.hub, given.actors, given.each, given.period))
        return
    with tempfile.TemporaryDirectory(prefix="rdb-") as name:
        proc = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.viewers", "--hub", name, *sys.argv[1:]], stdout=subprocess.PIPE
        )
        try:
            assert proc.stdout is not None
            proc.stdout.readline()
            print(json.dumps(asyncio.run(measure(given, Path(name), proc.pid))))
        finally:
            proc.kill()
            proc.wait()


if __name__ == "__main__":
    main()
