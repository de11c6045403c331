"""What of the demo needs torch is skipped where torch isn't installed: it is an extra (``raydebug[demo]``)."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch isn't installed: pip install torch==2.13.0")
