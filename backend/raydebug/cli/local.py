"""What can be known on the head itself: Ray's session directories, the hub's files in them, the token."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from raydebug.api.health import Health, HubEndpoint

_LISTEN = "0A"
"""The state of a listening socket in ``/proc/net/tcp``."""


def ray_temp_dir() -> Path:
    """Where Ray keeps its sessions, by the same rule as Ray."""
    return Path(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp") / "ray"


def latest_session() -> Path | None:
    path = ray_temp_dir() / "session_latest"
    return path.resolve() if path.is_dir() else None


def current_cluster() -> str | None:
    """The GCS address of the cluster last started on this machine."""
    try:
        return (ray_temp_dir() / "ray_current_cluster").read_text().strip() or None
    except OSError:
        return None


def token_file(session_dir: Path) -> Path:
    return session_dir / "raydebug" / "token"


def endpoint(session_dir: Path) -> HubEndpoint | None:
    """The hub that serves this session, if it lives."""
    try:
        found = msgspec.json.decode((session_dir / "raydebug" / "hub.json").read_bytes(), type=HubEndpoint)
    except (OSError, msgspec.DecodeError):
        return None
    return found if lives(found.pid) else None


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def is_here(url: str) -> bool:
    """Whether the URL's host is this machine: our token goes nowhere else by itself."""
    host = urlsplit(url).hostname or ""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(_own(str(address)) for address in found)


def _own(address: str) -> bool:
    if ipaddress.ip_address(address.split("%")[0]).is_loopback:
        return True
    import psutil

    own = {item.address.split("%")[0] for items in psutil.net_if_addrs().values() for item in items}
    return address.split("%")[0] in own


def is_own_listener(url: str) -> bool:
    """Whether this user, or root, and nobody else listens on the URL's port of this machine.

    Everybody may take a free port, before Ray does, and pass the hub's answers on as theirs.
    """
    split = urlsplit(url)
    port = split.port or (443 if split.scheme == "https" else 80)
    uids = listener_uids(port)
    return bool(uids) and uids <= {0, os.geteuid()}


def listener_uids(port: int) -> set[int]:
    """Whose sockets listen on a TCP port of this machine."""
    uids = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                uids.add(int(fields[7]))
    return uids


def session_of(health: Health) -> Path | None:
    """The session directory of the hub that gave this answer, if it runs on this machine."""
    for directory in _candidates(health.pid):
        found = endpoint(directory)
        if found is not None and (found.pid, found.start_ns) == (health.pid, health.start_ns):
            return directory
    return _from_command_line(health)


def _candidates(pid: int) -> Iterator[Path]:
    named = _argument(pid, "--session-dir")
    if named is not None:
        yield Path(named)
    latest = latest_session()
    if latest is not None:
        yield latest


def _from_command_line(health: Health) -> Path | None:
    """For a second hub of a session, which has no file of its own."""
    import psutil

    named = _argument(health.pid, "--session-dir")
    try:
        made_ns = psutil.Process(health.pid).create_time() * 1e9
    except psutil.Error:
        return None
    # a process that carries the number by chance, of another container for one, wasn't started when the hub was
    return Path(named) if named is not None and abs(health.start_ns - made_ns) < 60e9 else None


def _argument(pid: int, name: str) -> str | None:
    """The value of an option of a running hub."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    if not any(b"raydebug" in part for part in line):
        return None
    words = [part.decode(errors="replace") for part in line]
    for number, word in enumerate(words[:-1]):
        if word == name:
            return words[number + 1]
    return None
