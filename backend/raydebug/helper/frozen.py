"""Exceptions in which processes of this node are frozen, read by a process of its own: a wild read can't hurt us."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable

import msgspec

from raydebug.api.helper import Frame, FrozenException, ReadException

from .stacks import AT_ONCE, TIMEOUT_S, run_capped

log = logging.getLogger("raydebug.helper")

OUTPUT_BYTES = 1 << 20


class _Found(msgspec.Struct):
    """What ``python -m raydebug.helper.postmortem`` prints."""

    type_name: str | None = None
    message: str | None = None
    frames: list[Frame] = []
    user_frame: Frame | None = None
    error: str | None = None


_decode = msgspec.json.Decoder(_Found).decode


class ExceptionReader:
    """``may_read``: whether a pid is one that the hub may ask about."""

    def __init__(self, may_read: Callable[[int], bool]) -> None:
        self._may_read = may_read
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def read(self, ask: ReadException, deliver: Callable[[FrozenException], Awaitable[None]]) -> None:
        """Its slot is held until the answer has been taken, as with stacks."""
        async with self._slots:
            try:
                found = await self._read(ask)
            except Exception as problem:
                log.exception("a frozen exception wasn't read")
                found = _Found(error=f"The helper failed: {problem}. See its log.")
            await deliver(
                FrozenException(
                    id=ask.id,
                    pid=ask.pid,
                    type_name=found.type_name,
                    message=found.message,
                    frames=found.frames,
                    user_frame=found.user_frame,
                    error=found.error,
                )
            )

    async def _read(self, ask: ReadException) -> _Found:
        if not self._may_read(ask.pid):
            return _Found(error=f"Process {ask.pid} has ended, or isn't one of those watched on this node.")
        argv = [sys.executable, "-m", "raydebug.helper.postmortem", str(ask.pid), str(ask.ident)]
        code, output, complaint = await run_capped(argv, TIMEOUT_S, OUTPUT_BYTES)
        if code is None:
            return _Found(error=complaint)
        try:
            return _decode(output)
        except msgspec.MsgspecError:
            return _Found(error=f"The reader of exceptions failed (status {code}): {complaint.strip()[-300:]}")
