"""``raydebug.step``."""

from __future__ import annotations

import numbers
from time import monotonic, time_ns

from raydebug.api.frames import STEP, STEP_KIND

from .link import link


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
        link.send(STEP.pack(STEP_KIND, number, time_ns(), min(link.dropped, 0xFFFFFFFF)))
    except Exception:
        link.dropped += 1
