"""Small helps for benches."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them doesn't exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1))]


def say(text: str) -> None:
    """What stands behind a row, beside the table."""
    print(f"  {text}", file=sys.stderr, flush=True)


def summary(name: str, values: Sequence[float], unit: str = "ms") -> str:
    p50, p95 = percentile(values, 0.5), percentile(values, 0.95)
    return f"{name}: p50 {p50:.3g} {unit}, p95 {p95:.3g} {unit}, most {max(values):.3g} {unit}, {len(values)} times"
