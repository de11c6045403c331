from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from .server import FakeDashboard, dashboard


@pytest.fixture
def fake() -> Iterator[FakeDashboard]:
    with dashboard() as found:
        yield found


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's cluster and its debug variables are not these tests' business."""
    for name in [name for name in os.environ if name.startswith(("RAY_", "RAYDEBUG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/nonexistent")
