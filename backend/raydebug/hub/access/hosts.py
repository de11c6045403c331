"""Host and Origin of a request: pure functions against cross-site requests and DNS rebinding."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Iterable
from urllib.parse import urlsplit

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")

_RESOLVER_S = 1.0


def split_host(host: str) -> tuple[str, str] | None:
    """``(name, port)`` of a Host header, in lower case, the port "" where none is named; None if it is malformed."""
    match = _HOST.fullmatch(host)
    if match is None:
        return None
    name = match["name"].lower()
    return (name[:-1] if name.endswith(".") else name), match["port"] or ""


def is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name[1:-1] if name.startswith("[") else name)
    except ValueError:
        return False
    return True


def host_allowed(host: str, own: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether a Host can be trusted not to be a name that somebody points at us (DNS rebinding).

    An IP literal can't be rebound. ``patterns``: names, ``*.example.org`` (names below it), or ``*``.
    """
    parts = split_host(host)
    if parts is None:
        return False
    name = parts[0]
    if name == "localhost" or is_ip(name) or name in own:
        return True
    return any(
        pattern == "*" or name == pattern or (pattern.startswith("*.") and name.endswith(pattern[1:]))
        for pattern in patterns
    )


def origin_matches(origin: str, host: str) -> bool:
    """Whether a page of ``origin`` is our own page: the same name and port as ``host``. ``null`` never is."""
    try:
        split = urlsplit(origin)
    except ValueError:
        return False
    default = {"http": "80", "https": "443"}.get(split.scheme)
    theirs, ours = split_host(split.netloc), split_host(host)
    if default is None or theirs is None or ours is None:
        return False
    return (theirs[0], theirs[1] or default) == (ours[0], ours[1] or default)


def own_names() -> frozenset[str]:
    """This machine's names. Asks the resolver, for a second at most: call it once, at start."""
    names = {socket.gethostname()}
    asking = threading.Thread(target=lambda: names.add(socket.getfqdn()), daemon=True)
    asking.start()
    asking.join(_RESOLVER_S)
    names = set(names)
    return frozenset(name.lower().rstrip(".") for name in names if name)


def parse_patterns(value: str) -> tuple[str, ...]:
    """``RAYDEBUG_ALLOWED_HOSTS``: names separated by commas; a port in one is ignored."""
    names = (item.strip().lower().rstrip(".") for item in value.split(","))
    return tuple(re.sub(r":[0-9]+$", "", name) for name in names if name)
