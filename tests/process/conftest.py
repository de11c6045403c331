"""What several files of these tests start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.keeper import Agent, agent


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent(tmp_path) as made:
        yield made
