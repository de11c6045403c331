"""The audit log: who did what, as JSON lines, bounded by rotation. A flood of refusals is counted, not written."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from raydebug.hub.access.caller import Caller
from raydebug.hub.access.files import private_directory

logger = logging.getLogger(__name__)

AUDIT_FILE: Final = "audit.log"
_REFUSALS_A_MINUTE: Final = 10


class AuditLog:
    """``<session_dir>/raydebug/audit.log``, mode 0600. Older parts are kept as ``audit.log.1`` and so on."""

    def __init__(
        self,
        session_dir: Path,
        *,
        max_bytes: int = 1 << 20,
        keep: int = 3,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.path = private_directory(session_dir) / AUDIT_FILE
        self._max_bytes = max_bytes
        self._keep = keep
        self._now_ns = now_ns
        self._minute = 0
        self._refused_now = 0
        self._refused_untold = 0
        self.refused_total = 0

    def write(self, event: str, caller: Caller | None = None, **details: object) -> None:
        """Note an act. Never raises: what can't be noted is told in the log."""
        line: dict[str, object] = {"time_ns": self._now_ns(), "event": event}
        if caller is not None:
            line |= {"who": caller.label, "role": caller.role, "peer": caller.peer}
        try:
            self._append(msgspec.json.encode(line | details) + b"\n")
        except OSError as error:
            logger.error("the audit log can't be written: %s", error)

    def refused(self, peer: str, action: str, code: str) -> None:
        """Note a refused attempt: the first few of a minute each, of the rest only how many they were."""
        self.refused_total += 1
        minute = self._now_ns() // 60_000_000_000
        if minute != self._minute:
            self._minute, self._refused_now = minute, 0
            if self._refused_untold:
                self.write("refused_more", count=self._refused_untold)
                self._refused_untold = 0
        self._refused_now += 1
        if self._refused_now <= _REFUSALS_A_MINUTE:
            self.write("refused", peer=peer, action=action, code=code)
        else:
            self._refused_untold += 1

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size + len(line) > self._max_bytes:
                os.close(descriptor)
                descriptor = -1
                self._rotate()
                descriptor = os.open(self.path, flags, 0o600)
            os.write(descriptor, line)
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _rotate(self) -> None:
        def part(number: int) -> Path:
            return self.path.with_name(f"{AUDIT_FILE}.{number}")

        part(self._keep).unlink(missing_ok=True)
        for number in range(self._keep - 1, 0, -1):
            if part(number).exists():
                part(number).replace(part(number + 1))
        if self.path.exists():
            self.path.replace(part(1))
