"""The front end's files. Only what was found at start under its own name is served: no path of a client's is opened."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_PACKED: Final = frozenset({".png", ".woff2"})

NOT_BUILT: Final = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>raydebug</title>
<h1>raydebug: the page isn't built</h1>
<p>The hub runs, but this installation has no front end. In a checkout, build it with:</p>
<pre>npm ci &amp;&amp; npm run build</pre>
<p>or install a wheel: <code>pip install raydebug</code>. The API works: <a href="/debug/api/v1/health">health</a>.</p>
"""


@dataclass(frozen=True)
class Asset:
    content_type: str
    data: bytes
    packed: bytes | None
    """gzip of ``data`` where that is worth it."""


class StaticFiles:
    """``index.html`` and everything below ``assets/``, read at start and again after a new build."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: int | None = None
        self._shell: Asset | None = None
        self._assets: dict[str, Asset] = {}
        self._reload()

    def shell(self) -> Asset:
        self._reload()
        return self._shell or Asset(_TYPES[".html"], NOT_BUILT, None)

    def asset(self, name: str) -> Asset | None:
        """An asset by its name below ``assets/``."""
        self._reload()
        return self._assets.get(name)

    def _reload(self) -> None:
        index = self._root / "index.html"
        try:
            seen: int | None = index.stat().st_mtime_ns
        except OSError:
            seen = None
        if seen == self._seen:
            return
        self._seen = seen
        self._shell = _load(index) if seen is not None else None
        folder = self._root / "assets"
        self._assets = {
            path.relative_to(folder).as_posix(): _load(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in _TYPES
        }


def _load(path: Path) -> Asset:
    data = path.read_bytes()
    packed: bytes | None = None
    if path.suffix not in _PACKED and len(data) > 1024:
        beside = path.with_name(path.name + ".gz")
        packed = beside.read_bytes() if beside.is_file() else gzip.compress(data, 6, mtime=0)
    return Asset(_TYPES[path.suffix], data, packed)
