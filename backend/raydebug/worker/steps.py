"""``raydebug.step``."""

from __future__ import annotations

import struct
import time

from .link import link

STEP = struct.Struct("!BqQI")
"""Kind 1; the step's number; Unix ns; how many messages this process had to drop so far."""
KIND = 1
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def step(number: int) -> None:
    """Say that training step ``number`` begins now: the timeline marks it.

    May be called anywhere in a job (driver, task, actor, any thread), by one process or by all ranks: of each number
    the earliest call counts. Costs some microseconds, never blocks, raises or prints; without raydebug's helper on the
    node it does nothing. What is no whole number of 64 bits is dropped.
    """
    try:
        if _LEAST <= number <= _MOST:
            link.send(STEP.pack(KIND, int(number), time.time_ns(), min(link.dropped, 0xFFFFFFFF)))
        else:
            link.dropped += 1
    except Exception:
        link.dropped += 1
