"""What a run was asked for. Plain Python: the command line needs it before torch and ray are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Point(NamedTuple):
    """A place in a run: the update of step ``step`` (from 1) on rank ``rank`` (from 0) of ``actor_rollout``."""

    step: int
    rank: int

    @classmethod
    def parse(cls, text: str) -> Point:
        """``STEP:RANK`` -> a point; ValueError says what is wrong with the text."""
        step, colon, rank = text.partition(":")
        if not (colon and step.isascii() and step.isdecimal() and rank.isascii() and rank.isdecimal()):
            raise ValueError(f"{text!r} is not STEP:RANK, such as 3:1 (step 3, rank 1)")
        if int(step) < 1:
            raise ValueError(f"{text!r}: steps count from 1")
        return cls(int(step), int(rank))

    def __str__(self) -> str:
        return f"{self.step}:{self.rank}"


@dataclass(frozen=True, kw_only=True)
class Options:
    """``steps`` None: until stopped. ``breakpoints`` and ``crashes``: where a rank shall stop, or fail.
    ``declare_steps``: by ``raydebug.step``; else the timeline infers them, as with a job that doesn't know us."""

    steps: int | None = None
    ranks: int = 2
    seed: int = 0
    breakpoints: frozenset[Point] = frozenset()
    crashes: frozenset[Point] = frozenset()
    declare_steps: bool = False

    def __post_init__(self) -> None:
        for point in sorted(self.breakpoints | self.crashes):
            if point.rank >= self.ranks:
                raise ValueError(f"'{point}': ranks are 0 to {self.ranks - 1} with --ranks {self.ranks}")
            if self.steps is not None and point.step > self.steps:
                raise ValueError(f"'{point}': the run ends after step {self.steps} (--steps)")
