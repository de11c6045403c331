"""What goes on, on stderr, when it takes over a second: in place on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final

from rich.console import Console

FIRST_S: Final = 1.0
AGAIN_S: Final = 5.0
_DRAWN_S: Final = 0.25


@contextlib.asynccontextmanager
async def progress(words: Callable[[], str]) -> AsyncIterator[None]:
    """``words`` says how far it is now."""
    telling = asyncio.ensure_future(_tell(words))
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


async def _tell(words: Callable[[], str]) -> None:
    await asyncio.sleep(FIRST_S)
    out = Console(file=sys.stderr, markup=False, emoji=False, highlight=False)
    if not out.is_terminal:
        while True:
            out.print(words(), soft_wrap=True)
            await asyncio.sleep(AGAIN_S)
    with out.status(words()) as status:
        while True:
            await asyncio.sleep(_DRAWN_S)
            status.update(words())
