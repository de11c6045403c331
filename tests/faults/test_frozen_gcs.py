"""A GCS that hangs: each question ends with its own answer, none with another's, and all goes on when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psutil

from raydebug.ray_compat import Gcs, GcsError
from tests.support.cluster import RayCluster


async def asked_later(delay_s: float, ask: Callable[[], Awaitable[Any]]) -> type[BaseException] | None:
    await asyncio.sleep(delay_s)
    try:
        await ask()
    except BaseException as error:  # a CancelledError would end a source for good
        return type(error)
    return None


async def frozen_then_back(address: str, server: psutil.Process) -> None:
    gcs = Gcs(address, timeout=3)
    await gcs.nodes()
    server.suspend()
    try:
        # They overlap: the first is given up while the others still wait on the same connection.
        questions = (gcs.nodes, gcs.actors, gcs.paused_workers)
        ends = await asyncio.gather(*(asked_later(n, ask) for n, ask in enumerate(questions)))
    finally:
        server.resume()
    assert ends == [GcsError] * 3
    for _ in range(20):
        if await asked_later(0.5, gcs.nodes) is None:
            break
    assert await gcs.nodes()
    await gcs.close()


def test_questions_to_a_frozen_gcs_fail_alone() -> None:
    with RayCluster(num_cpus=1) as cluster:
        server = next(process for process in cluster.processes() if process.name() == "gcs_server")
        asyncio.run(frozen_then_back(cluster.address, server))
