"""Run the benches: ``python -m tests.bench [--write] [NAME ...]``; --write rewrites the table in README.md."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

from tests.bench.protocol import Row, table

HERE = Path(__file__).parent
README = HERE.parent.parent / "README.md"
START, END = "<!-- bench -->", "<!-- /bench -->"


def caption(loads: list[float]) -> str:
    """On what machine, and how busy with other things: figures of a busy one are worse than they need be."""
    python, ray = platform.python_version(), metadata.version("ray")
    return (
        f"Ray {ray}, Python {python}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}; "
        f"load average {min(loads):.0f} to {max(loads):.0f}. "
        "A ratio below 1 is in our favor."
    )


def write_table(text: str, rows: list[Row], about: str) -> str:
    """README's text with the table between the markers replaced."""
    head, found, rest = text.partition(START)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"README.md has no {START} … {END}")
    return f"{head}{START}\n{about}\n\n{table(rows)}\n{END}{tail}"


def main(arguments: list[str]) -> int:
    known = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    names = [argument for argument in arguments if argument != "--write"]
    if unknown := set(names) - set(known):
        print(f"unknown bench: {', '.join(sorted(unknown))}; expected some of: {', '.join(known)}", file=sys.stderr)
        return 2
    if names and "--write" in arguments:
        print("--write needs all benches: give no names with it", file=sys.stderr)
        return 2
    loads = [os.getloadavg()[0]]
    rows: list[Row] = []
    for name in names or known:
        start = time.monotonic()
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"tests.bench.bench_{name}").bench()
        loads.append(os.getloadavg()[0])
        print(f"{name}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    print(f"{caption(loads)}\n\n{table(rows)}")
    if "--write" in arguments:
        README.write_text(write_table(README.read_text(), rows, caption(loads)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
