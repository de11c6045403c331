"""Who else is connected to a debugpy adapter on this machine, from /proc/net: so that "already being debugged" has a
name."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

_ESTABLISHED: Final = "01"


class Connection(NamedTuple):
    """``remote``: host and port."""

    local_port: int
    remote: tuple[str, int]
    inode: str


def who_is_connected(port: int, own_port: int | None, before: Collection[int | None] = ()) -> str | None:
    """Names the clients of the adapter that listens on ``port``, ourselves (who come from ``own_port``) left out.
    ``before``: our ports of sessions that were left, and that debugpy hasn't let go of.

    None where nobody is, or nothing can be told. Reads /proc; not for an event loop.
    """
    connections = list(_connections())
    clients = [one.remote for one in connections if one.local_port == port and one.remote[1] != own_port]
    names = []
    for host, remote_port in clients:
        if remote_port in before:
            names.append("raydebug's own session before, which debugpy hasn't let go of,")
            continue
        inode = next(
            (one.inode for one in connections if one.local_port == remote_port and one.remote[1] == port), None
        )
        process = _process_of(inode) if inode else None
        names.append(f"{process} on this node" if process else f"{host}:{remote_port}")
    return ", ".join(sorted(set(names))) or None


def _connections() -> Iterator[Connection]:
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path) as file:
                lines = file.readlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _ESTABLISHED:
                yield Connection(_address(fields[1])[1], _address(fields[2]), fields[9])


def _address(text: str) -> tuple[str, int]:
    """``0100007F:1F90`` -> ``127.0.0.1``, 8080: words of the machine's own byte order."""
    host, port = text.split(":")
    words = [int(host[at : at + 8], 16) for at in range(0, len(host), 8)]
    raw = b"".join(struct.pack("=I", word) for word in words)
    if len(raw) == 4:
        return socket.inet_ntop(socket.AF_INET, raw), int(port, 16)
    if raw.startswith(b"\0" * 10 + b"\xff\xff"):
        return socket.inet_ntop(socket.AF_INET, raw[12:]), int(port, 16)
    return socket.inet_ntop(socket.AF_INET6, raw), int(port, 16)


def _process_of(inode: str) -> str | None:
    wanted = f"socket:[{inode}]"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for number in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{number}") == wanted:
                    with open(f"/proc/{pid}/comm", errors="replace") as file:
                        return f"{file.read().strip()} (pid {pid})"
        except OSError:
            continue
    return None
