"""Promises of the package: few needs, a cheap import, locks without addresses, one version everywhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import raydebug
from tests.bench.__main__ import write_table
from tests.bench.protocol import Row

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
LOCKS = sorted([*ROOT.glob("requirements/*.lock"), *ROOT.glob("*/package-lock.json"), *ROOT.glob("package-lock.json")])


def listed(name: str) -> list[str]:
    """The strings of one list in pyproject.toml (Python 3.10 has no tomllib)."""
    found = re.search(rf"^{name} = \[(.*?)\n?\](?=\n)", PYPROJECT, re.MULTILINE | re.DOTALL)
    assert found, name
    return re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1))


def package(need: str) -> str:
    return re.split(r"[\[<>=!~; ]", need, maxsplit=1)[0].lower().replace("_", "-")


def test_few_required_dependencies() -> None:
    assert 0 < len(listed("dependencies")) <= 14


@pytest.mark.parametrize("lock", ["run", "dev", "verl"])
def test_locks_hold_what_is_asked_for(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text()
    if lock == "dev":
        text += (ROOT / "requirements" / "run.lock").read_text()
    locked = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
    needs = [*listed("dependencies"), *listed("demo"), *(listed("dev") if lock == "dev" else [])]
    missing = {package(need) for need in needs} - locked
    assert not missing, "run scripts/lock"


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_locks_hold_no_addresses(path: Path) -> None:
    text = path.read_text()
    found = re.findall(r'"resolved":\s*"(?:https?|file|git[^"]*):[^"]*"|--[a-z-]*index[^\n]*|--find-links[^\n]*', text)
    if path.suffix == ".lock":
        found += re.findall(r"\S*(?:https?:|file:|@ )\S*", text)
    assert not found, "addresses of one machine's registries don't belong in a lock"


def test_one_version() -> None:
    found = re.search(r'^version = "(.*)"', PYPROJECT, re.MULTILINE)
    assert found
    versions = {"pyproject.toml": found.group(1)}
    for path in [ROOT / "package.json", *ROOT.glob("*/package.json")]:
        if version := json.loads(path.read_text()).get("version"):
            versions[str(path.relative_to(ROOT))] = version
    assert set(versions.values()) == {raydebug.__version__}, versions
    assert f"[{raydebug.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_import_is_cheap() -> None:
    code = "import sys, raydebug; print([m for m in ('ray', 'torch', 'numpy', 'aiohttp') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


def test_bench_table_is_replaced() -> None:
    rows = [Row("a", 2, "ms", 4, "b", "< 3 ms"), Row("c", 1, "ms")]
    text = write_table("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n", rows, "where")
    assert "old" not in text
    assert text.startswith("before\n<!-- bench -->\nwhere\n\n| what |")
    assert "| a | 2 ms | b 4 ms | 0.5 | < 3 ms |" in text
    assert text.endswith("<!-- /bench -->\nafter\n")
    with pytest.raises(ValueError, match="README"):
        write_table("no markers", rows, "where")
