"""Since when workers are paused, kept over a restart of the hub: Ray doesn't say it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

_decode = msgspec.json.Decoder(dict[str, int]).decode


class SinceFile:
    """A small file beside the hub's others; worker id -> Unix ns. Without it everything counts as just seen."""

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._saved: dict[str, int] = {}

    def load(self) -> dict[str, int]:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            self._saved = _decode(self._path.read_bytes())
        return dict(self._saved)

    def save(self, since: Mapping[str, int]) -> None:
        if since == self._saved:
            return
        self._saved = dict(since)
        # Whole or not at all; a full disk costs the memory of it, nothing else.
        with contextlib.suppress(OSError):
            new = self._path.with_name(f"{self._path.name}.new")
            new.write_bytes(msgspec.json.encode(self._saved))
            os.replace(new, self._path)
