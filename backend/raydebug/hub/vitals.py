"""The hub's own health: how late its loop runs, how much memory it holds."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import psutil

from raydebug.hub.http.metrics import Metric

_EVERY_S: Final = 0.25
_WINDOW: Final = 40


class Vitals:
    def __init__(self) -> None:
        self._lags: list[float] = []
        self._process = psutil.Process()

    async def run(self) -> None:
        """Measure the loop's lag until cancelled."""
        while True:
            start = time.monotonic()
            await asyncio.sleep(_EVERY_S)
            self._lags.append(max(0.0, time.monotonic() - start - _EVERY_S))
            del self._lags[:-_WINDOW]

    def metrics(self) -> list[Metric]:
        cpu = self._process.cpu_times()
        lags = self._lags or [0.0]
        return [
            Metric("loop_lag_seconds", "gauge", "The worst lateness of the hub's loop in the last 10 s.", max(lags)),
            Metric("rss_bytes", "gauge", "The hub's resident memory.", float(self._process.memory_info().rss)),
            Metric("cpu_seconds_total", "counter", "CPU time the hub used.", cpu.user + cpu.system),
        ]
