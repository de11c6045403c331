"""One hub with 100 viewers, one of them stalled, beside the same hub with 10 viewers (see viewers.py)."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.bench.figures import say
from tests.bench.protocol import Row


def measured(*arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.viewers", "--actors", "256", "--each", "16", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    found: dict[str, float] = json.loads(done.stdout)
    say(", ".join(f"{name} {value:g}" for name, value in found.items()))
    return found


def bench() -> list[Row]:
    few = measured("--viewers", "10", "--stalled", "0")
    many = measured("--viewers", "100", "--stalled", "1")
    ten = "10 viewers"
    return [
        Row("hub's CPU, 100 viewers", many["hub_cores"] * 100, "% of a core", few["hub_cores"] * 100, ten, "< 100 %"),
        Row("a change -> at 100 viewers, one stalled, p50", many["late_ms_p50"], "ms", few["late_ms_p50"], ten),
        Row("the same, p99", many["late_ms_p99"], "ms", few["late_ms_p99"], ten),
        Row("hub's memory, 100 viewers", many["rss_mb"], "MB", few["rss_mb"], ten),
    ]
