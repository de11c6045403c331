"""A duty cycle: how often to ask, by what asking costs."""

from __future__ import annotations

from collections import deque
from typing import Final

_REMEMBERED: Final = 5


class Pace:
    """Adapts the pause between two polls to their measured cost.

    ``share``: the fraction of time that polling may take; ``least_s``: the shortest period. An answer takes as long as
    it costs and as it waits for a processor, here and there: on a busy machine mostly the latter. So the quickest of
    the last few counts, or a breakpoint would be seen seconds late just when the machine is busy.
    """

    def __init__(self, least_s: float, share: float = 0.05, most_s: float = 60.0) -> None:
        self._least_s: Final = least_s
        self._share: Final = share
        self._most_s: Final = most_s
        self._took_s: Final[deque[float]] = deque(maxlen=_REMEMBERED)

    def pause_after(self, took_s: float) -> float:
        """Seconds to wait after a poll that took ``took_s``."""
        self._took_s.append(took_s)
        return self.period_s

    @property
    def period_s(self) -> float:
        cost_s = min(self._took_s, default=0.0)
        return min(self._most_s, max(self._least_s, cost_s / self._share))
