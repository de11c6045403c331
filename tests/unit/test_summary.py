"""The summary at the end of a test run: what it adds up, and what never counts as passed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "summary.py"


def part(folder: Path, name: str, rc: int, start: float = 1.0) -> None:
    (folder / f"{name}.part").write_text(f"{start} {start + 2} {rc}\n")


def summary(folder: Path, ci: str = "") -> tuple[int, list[str]]:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False, env={"CI": ci}
    )
    return run.returncode, run.stdout.splitlines()


def test_adds_up_all_reports(tmp_path: Path) -> None:
    part(tmp_path, "lint", 0)
    part(tmp_path, "unit", 0, 2)
    cases = "<testcase/><testcase/><testcase><skipped/></testcase>"
    (tmp_path / "unit.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    part(tmp_path, "page", 0, 3)
    (tmp_path / "page.json").write_text(
        json.dumps({"numPassedTests": 5, "numFailedTests": 0, "numPendingTests": 1, "numTodoTests": 0})
    )
    part(tmp_path, "browser", 0, 4)
    (tmp_path / "browser.json").write_text(
        json.dumps({"stats": {"expected": 7, "unexpected": 0, "skipped": 0, "flaky": 1}})
    )
    rc, lines = summary(tmp_path)
    assert (rc, lines[-1]) == (0, "16 passed, 0 failed, 2 skipped")


@pytest.mark.parametrize(
    ("rc", "report", "last"),
    [
        (1, None, "0 passed, 1 failed, 0 skipped"),
        (124, None, "0 passed, 1 failed, 0 skipped"),
        (1, "<testsuite><testcase/></testsuite>", "1 passed, 1 failed, 0 skipped"),
        (1, "<testsuite><testcase><error/></testcase></testsuite>", "0 passed, 1 failed, 0 skipped"),
        (0, "not XML", "0 passed, 1 failed, 0 skipped"),
    ],
)
def test_nothing_broken_passes(tmp_path: Path, rc: int, report: str | None, last: str) -> None:
    part(tmp_path, "unit", rc)
    if report:
        (tmp_path / "unit.xml").write_text(report)
    status, lines = summary(tmp_path)
    assert (status, lines[-1]) == (1, last)


@pytest.mark.parametrize(
    ("ci", "status", "last"), [("", 0, "1 passed, 0 failed, 1 skipped"), ("true", 1, "1 passed, 1 failed, 0 skipped")]
)
def test_not_run_is_never_passed(tmp_path: Path, ci: str, status: int, last: str) -> None:
    part(tmp_path, "lint", 0)
    (tmp_path / "browser.notrun").write_text("no Chromium")
    rc, lines = summary(tmp_path, ci)
    assert (rc, lines[-1]) == (status, last)
    assert any("NOT RUN: no Chromium" in line for line in lines)


def test_nothing_at_all_fails(tmp_path: Path) -> None:
    assert summary(tmp_path) == (1, ["", "part  passed  failed  skipped  seconds", "", "0 passed, 0 failed, 0 skipped"])
