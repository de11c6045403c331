#!/usr/bin/env python3
"""Add up what the parts of a test run left in a folder; the last line is the sum.

A part is ``NAME.part`` (start, end, exit status) with an optional report beside it: ``NAME.xml`` (JUnit, pytest's) or
``NAME.json`` (vitest's or Playwright's), or ``NAME.notrun`` (why). A part without a report counts as one. A part that
was not run is shown and counted as skipped, never as passed; with CI set it is a failure.
"""

from __future__ import annotations

import json
import os
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NO_TESTS = 5  # pytest's exit status when it found none


@dataclass
class Part:
    name: str
    start: float
    seconds: float = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""


def read_junit(path: Path) -> tuple[int, int, int]:
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed += 1
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def read_json(path: Path) -> tuple[int, int, int]:
    report: dict[str, Any] = json.loads(path.read_text())
    if stats := report.get("stats"):  # Playwright; a flaky test passed on a later try
        return stats["expected"] + stats.get("flaky", 0), stats["unexpected"], stats["skipped"]
    skipped = report.get("numPendingTests", 0) + report.get("numTodoTests", 0)
    return report["numPassedTests"], report["numFailedTests"], skipped


def read_part(path: Path, *, ci: bool) -> Part:
    name = path.stem
    if path.suffix == ".notrun":
        note = f"NOT RUN: {path.read_text()}"
        return Part(name, path.stat().st_mtime, failed=int(ci), skipped=int(not ci), note=note)
    start, end, status = path.read_text().split()
    part = Part(name, float(start), float(end) - float(start))
    rc = int(status)
    try:
        if (report := path.with_suffix(".xml")).exists():
            part.passed, part.failed, part.skipped = read_junit(report)
        elif (report := path.with_suffix(".json")).exists():
            part.passed, part.failed, part.skipped = read_json(report)
        elif rc == 0:
            part.passed = 1
    except (ElementTree.ParseError, ValueError, KeyError) as error:
        part.note = f"unreadable report: {error}"
        rc = rc or 1
    if rc == NO_TESTS and part.passed + part.failed + part.skipped == 0 and path.with_suffix(".xml").exists():
        part.note = "NOT RUN: no tests found"
        part.skipped, part.failed = int(not ci), int(ci)
    elif rc and not part.failed:
        part.failed = 1
        part.note = part.note or ("ran out of time" if rc in (124, 137) else f"ended with status {rc}")
    return part


def main(folder: Path) -> int:
    ci = os.environ.get("CI", "").lower() in ("1", "true")
    files = [*folder.glob("*.part"), *folder.glob("*.notrun")]
    parts = sorted((read_part(file, ci=ci) for file in files), key=lambda part: part.start)
    width = max([len(part.name) for part in parts], default=0)
    print(f"\n{'part':<{width}}  passed  failed  skipped  seconds")
    for part in parts:
        mark = "!" if part.failed else " "
        row = f"{part.name:<{width}}  {part.passed:6}  {part.failed:6}  {part.skipped:7}  {part.seconds:7.1f}"
        print(f"{row} {mark} {part.note}".rstrip())
    passed, failed, skipped = (sum(getattr(p, kind) for p in parts) for kind in ("passed", "failed", "skipped"))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not parts else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
