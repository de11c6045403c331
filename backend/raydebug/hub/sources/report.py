"""What a source says of itself in table ``sources``."""

from __future__ import annotations

import time
from typing import Final

from raydebug.api.topology import SourceState
from raydebug.hub.model.store import Store
from raydebug.hub.model.views import set_source

_TELL_EVERY_NS: Final = 2_000_000_000


class Report:
    """Keeps a source's row, and doesn't wake every viewer at each poll only to say that all is well."""

    def __init__(self, store: Store, name: str) -> None:
        self._store: Final = store
        self._name: Final = name
        self._fresh_ns: int | None = None
        self._told: SourceState | None = None

    def well(self, period_s: float) -> None:
        """New facts have come just now."""
        self._fresh_ns = time.time_ns()
        told = self._told
        if told and told.ok and self._fresh_ns - (told.fresh_ns or 0) < _TELL_EVERY_NS:
            return
        self._tell(ok=True, period_s=period_s, note=None)

    def ill(self, period_s: float, note: str) -> None:
        """The facts are as old as before, for the reason in ``note``."""
        self._tell(ok=False, period_s=period_s, note=note)

    def _tell(self, *, ok: bool, period_s: float, note: str | None) -> None:
        self._told = SourceState(
            name=self._name, ok=ok, fresh_ns=self._fresh_ns, period_ns=int(round(period_s, 1) * 1e9), note=note
        )
        set_source(self._store, self._told)
