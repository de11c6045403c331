"""``raydebug.step``."""

from __future__ import annotations

import numbers
import struct
from time import monotonic, time_ns

from .link import link

STEP = struct.Struct("!BqQI")
"""Kind 1; the step's number; Unix ns; how many messages this process had to drop so far."""
KIND = 1


def step(number: int) -> None:
    """Say that training step ``number`` begins now: the timeline marks it.

    May be called anywhere in a job (driver, task, actor, any thread), by one process or by all ranks: of each number
    the earliest call counts. Numbers may begin anew (epochs). Costs some microseconds, never blocks, raises or prints;
    without raydebug's helper on the node it does nothing. What is no whole number of 64 bits (NumPy's are; a tensor
    isn't, to read one may wait for its device) is dropped and counted.
    """
    if link.off_until > monotonic():
        link.dropped += 1
        return
    try:
        if type(number) is not int:
            if not isinstance(number, numbers.Real) or number != int(number):
                raise TypeError(number)
            number = int(number)
        link.send(STEP.pack(KIND, number, time_ns(), min(link.dropped, 0xFFFFFFFF)))
    except Exception:
        link.dropped += 1
