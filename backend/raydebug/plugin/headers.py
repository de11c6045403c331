"""Which headers pass the gateway, and what it says about a request. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Literal

from raydebug.api.names import PEER_HEADER, ROUTE_HEADER, TOKEN_HEADER, URL_PREFIX

Route = Literal["shell", "ray-auth", "open"]
Raw = Iterable[tuple[bytes, bytes]]

PUBLIC_EXACT = (URL_PREFIX,)
PUBLIC_PREFIXES = (URL_PREFIX + "/assets/",)
"""What Ray's token mode lets everybody fetch: the page without data."""

HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding"
    b" upgrade expect http2-settings".split()
)
FORWARDED = frozenset((b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"))
"""Passed on from a trusted proxy alone; every other ``X-Forwarded-…`` is dropped."""


def is_public(path: str) -> bool:
    return path in PUBLIC_EXACT or path.startswith(PUBLIC_PREFIXES)


def is_plain(path: str) -> bool:
    """Whether every server on the way understands the (decoded) path alike: no dot segments, no control characters.

    ``/debug/assets/../api/v1/stacks`` is below a public prefix for Ray's middleware, and something else for others.
    """
    segments = path.replace("\\", "/").split("/")
    return not any(s in (".", "..") for s in segments) and all(c >= " " and c != "\x7f" for c in path)


def parse_proxies(text: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """``RAYDEBUG_TRUSTED_PROXIES``: addresses and networks, separated by commas. Raises ValueError."""
    return [ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip()]


def is_trusted(peer: str, proxies: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in network for network in proxies)


def to_hub(raw: Raw, *, peer: str, route: Route, trusted: bool) -> list[tuple[bytes, bytes]]:
    """The client's headers as the hub gets them."""
    raw = list(raw)
    dropped = set(HOP_BY_HOP)
    for name, value in raw:
        if name.lower() == b"connection":
            dropped.update(part.strip().lower() for part in value.split(b","))
    kept = []
    for name, value in raw:
        key = name.lower().replace(b"_", b"-")
        if name.lower() in dropped or key in (b"forwarded", b"x-real-ip"):
            continue
        if key.startswith(b"x-raydebug-") and name.lower() != TOKEN_HEADER.lower().encode():
            continue
        if key.startswith(b"x-forwarded-") and not (trusted and name.lower() in FORWARDED):
            continue
        kept.append((name, value))
    kept.append((PEER_HEADER.encode(), peer.encode("latin-1", "replace")))
    kept.append((ROUTE_HEADER.encode(), route.encode()))
    return kept


def from_hub(raw: Raw) -> list[tuple[str, str]]:
    """The hub's headers as the client gets them."""
    return [(n.decode("latin-1"), v.decode("latin-1")) for n, v in raw if n.lower() not in HOP_BY_HOP]
