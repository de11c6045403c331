"""What ``import raydebug`` costs training code: beside Python's own json, in fresh interpreters, the median of many."""

from __future__ import annotations

import statistics
import subprocess
import sys

from tests.bench.protocol import Row

RUNS = 15
TIMED = "import time; start = time.perf_counter(); import {}; print((time.perf_counter() - start) * 1e3)"


def import_ms(module: str) -> float:
    command = [sys.executable, "-c", TIMED.format(module)]
    times = [float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
    return statistics.median(times)


def bench() -> list[Row]:
    return [Row("import raydebug", import_ms("raydebug"), "ms", import_ms("json"), "import json", "< 30 ms")]
