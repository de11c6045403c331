"""Recomputes a model soon after a source changed it, and not more often than it is worth."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

_LEAST_S: Final = 0.05


class Refresher:
    """``soon()`` after each change; at most one refresh per 50 ms, or per 10 times what one costs."""

    def __init__(self, refresh: Callable[[], None]) -> None:
        self._do: Final = refresh
        self._timer: asyncio.TimerHandle | None = None
        self._cost_s = 0.0
        self._last = 0.0

    def soon(self) -> None:
        if self._timer is None:
            pause = max(0.0, self._last + max(_LEAST_S, 10 * self._cost_s) - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(pause, self._refresh)

    def _refresh(self) -> None:
        self._timer = None
        began = time.monotonic()
        self._do()
        self._last = time.monotonic()
        self._cost_s = self._last - began
