"""A duty cycle: how often to ask, by what asking costs."""

from __future__ import annotations

from typing import Final


class Pace:
    """Adapts the pause between two polls to their measured cost.

    ``share``: the fraction of time that polling may take; ``least_s``: the shortest period. The cost is smoothed, so
    that one slow answer doesn't slow the next minute.
    """

    def __init__(self, least_s: float, share: float = 0.05, most_s: float = 60.0) -> None:
        self._least_s: Final = least_s
        self._share: Final = share
        self._most_s: Final = most_s
        self._cost_s = 0.0

    def pause_after(self, cost_s: float) -> float:
        """Seconds to wait after a poll that took ``cost_s``."""
        self._cost_s = cost_s if self._cost_s == 0 else 0.7 * self._cost_s + 0.3 * cost_s
        return min(self._most_s, max(self._least_s, self._cost_s / self._share))

    @property
    def period_s(self) -> float:
        return min(self._most_s, max(self._least_s, self._cost_s / self._share))
