"""How far an attempt is: Ray's states in the order in which an attempt goes through them."""

from __future__ import annotations

from typing import Final

import numpy as np

from raydebug.api.task_facts import FAILED, FINISHED, RUNNING, TASK_STATES

BY_RANK: Final = (0, 1, 2, 3, 4, 5, 6, 7, 13, 8, 9, 10, 11, 12)
"""Rank -> Ray's state. Should both ends be told of an attempt, FAILED counts."""
RANK_OF: Final = np.argsort(np.array(BY_RANK)).astype(np.uint8)
"""Ray's state -> rank."""
NAMES: Final = tuple(TASK_STATES[state] for state in BY_RANK)
RUNS: Final = int(RANK_OF[RUNNING])
"""From this rank on it has begun to run."""
ENDED: Final = int(RANK_OF[FINISHED])
"""From this rank on it has ended."""
FAILS: Final = int(RANK_OF[FAILED])

# Indices into api.timeline.MARK_STATES.
PENDING, RUNS_NOW, DONE, BROKEN, HELD = range(5)
MARK_OF_RANK: Final = np.array(
    [PENDING if rank < RUNS else RUNS_NOW if rank < ENDED else BROKEN if rank == FAILS else DONE for rank in range(14)],
    np.uint8,
)
