"""Runs the sources of facts; one that crashes is told in table ``sources`` and started again."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final, Protocol

from raydebug.api.topology import SourceState
from raydebug.hub.model.store import Store
from raydebug.hub.model.views import set_source

logger = logging.getLogger(__name__)

_FIRST_S: Final = 0.5
_LAST_S: Final = 30.0
_WELL_S: Final = 60.0
"""After it ran this long without a crash, a source's next crash counts as its first."""


class FactSource(Protocol):
    """Something that brings facts in. ``run`` fills the store until it is cancelled; it may raise.

    ``name`` is its row's key in table ``sources``, which it keeps itself (``model.views.set_source``).
    """

    @property
    def name(self) -> str: ...
    async def run(self, store: Store) -> None: ...


async def supervise(source: FactSource, store: Store, first_s: float = _FIRST_S) -> None:
    """Run ``source`` until cancelled."""
    delay = first_s
    while True:
        start = time.monotonic()
        try:
            await source.run(store)
            what = "it ended"
        except Exception as error:
            logger.exception("source %s crashed", source.name)
            what = f"{type(error).__name__}: {error}"[:300]
        if time.monotonic() - start > _WELL_S:
            delay = first_s
        set_source(
            store,
            SourceState(
                name=source.name,
                ok=False,
                fresh_ns=None,
                period_ns=None,
                note=f"stopped ({what}); starts again in {delay:.0f} s. See the hub's log.",
            ),
        )
        await asyncio.sleep(delay)
        delay = min(delay * 2, _LAST_S)
