"""What a bench is: a module ``tests/bench/bench_*.py`` with ``def bench() -> list[Row]``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure, beside a peer's on the same machine where there is one."""

    name: str
    ours: float
    unit: str
    peer: float | None = None
    peer_name: str = ""
    budget: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.peer else None


def cells(row: Row) -> list[str]:
    peer = f"{row.peer_name} {row.peer:.3g} {row.unit}".strip() if row.peer is not None else ""
    ratio = f"{row.ratio:.2g}" if row.ratio is not None else ""
    return [row.name, f"{row.ours:.3g} {row.unit}", peer, ratio, row.budget]


HEAD = ["what", "raydebug", "peer", "ratio", "budget"]


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [HEAD, ["---"] * len(HEAD), *(cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
