"""The Rays that tests of real clusters run with: this interpreter's, and older ones where they are at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

OLD_RAYS = [path for path in os.environ.get("RAYDEBUG_TEST_OLD_RAYS", "").split(os.pathsep) if path]
"""Interpreters with another Ray in which this package can be imported; ``scripts/test-full rays`` makes them."""

_ASK = "from importlib.metadata import version; print(version('ray'))"


def _version(python: str) -> str:
    return subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True).stdout.strip()


OLD = [pytest.param(python, id=f"rays-{_version(python)}", marks=pytest.mark.full) for python in OLD_RAYS]
RAYS: list[Any] = [pytest.param(sys.executable, id="this"), *OLD]
"""Parameters ``python``: ``-m full -k rays`` chooses the older ones."""
