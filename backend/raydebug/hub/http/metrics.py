"""Prometheus text about the hub itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Metric:
    """``name`` without the prefix ``raydebug_``; a counter's ends in ``_total``."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render(metrics: Iterable[Metric]) -> str:
    lines: list[str] = []
    told: set[str] = set()
    for metric in metrics:
        name = f"raydebug_{metric.name}"
        if name not in told:
            told.add(name)
            lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
        labels = ",".join(f'{key}="{_escape(value)}"' for key, value in metric.labels.items())
        lines.append(f"{name}{{{labels}}} {metric.value:.9g}" if labels else f"{name} {metric.value:.9g}")
    return "\n".join(lines) + "\n"
