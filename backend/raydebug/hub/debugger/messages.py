"""The read-only log of what was said to debugpy and what it said."""

from __future__ import annotations

import time
from typing import Final, Literal

from raydebug.api.debug import DapMessage
from raydebug.dap.bodies import clipped
from raydebug.hub.debugger.rings import Ring

LOG_CHARS: Final = 2 << 20
LOGGED_CHARS: Final = 4000


class MessageLog(Ring[DapMessage]):
    def __init__(self) -> None:
        super().__init__(LOG_CHARS, lambda message: len(message.text) + 100)

    def note(
        self,
        sent: bool,
        kind: Literal["request", "response", "event"],
        command: str,
        text: bytes,
        took_ms: float | None = None,
        success: bool = True,
    ) -> None:
        """``text``: JSON."""
        shown = text[:LOGGED_CHARS].decode(errors="replace")
        if len(text) > LOGGED_CHARS:
            shown += f" … ({len(text) - LOGGED_CHARS} more bytes)"
        self.add(
            lambda number: DapMessage(
                number=number,
                at_ns=time.time_ns(),
                sent=sent,
                kind=kind,
                command=clipped(command, 100),
                text=shown,
                took_ms=took_ms,
                success=success,
            )
        )
