"""Messages between hub and keeper: binary msgpack frames on a websocket that the hub dials through Ray's node agent.

The keeper of a node holds the sockets to debugpy of its attached workers and drivers, so that they stay as they are
when the hub dies. The handshake is the helper's (``raydebug.api.helper``), with :class:`KeeperHello` at its end. Then
the keeper sends a :class:`Snapshot`; of several hubs the newest is served.

A session is named by the worker's id. The hub's requests are numbered by the hub (``tag``); answers to requests of an
earlier hub are never delivered, only their end is told, as :class:`Orphan`.
"""

from __future__ import annotations

import msgspec

from raydebug.api.helper import Challenge, Refused


class KeeperHello(msgspec.Struct, frozen=True, kw_only=True, tag="keeper_hello"):
    proof: str
    pid: int
    start_ns: int


# From the hub ------------------------------------------------------------------------------------------------------


class Open(msgspec.Struct, frozen=True, kw_only=True, tag="open"):
    """Connect to a debugpy adapter. Answered by :class:`Opened`; a session that is there already is left as it is."""

    session: str
    host: str
    port: int


class Request(msgspec.Struct, frozen=True, kw_only=True, tag="request"):
    """A DAP request; ``arguments``: JSON. Answered by :class:`Response`."""

    session: str
    tag: int
    command: str
    arguments: bytes


class WillRequest(msgspec.Struct, frozen=True, array_like=True):
    """``if_busy``: only while debugpy owes an answer to what was asked before."""

    command: str
    arguments: bytes
    if_busy: bool = False


class Note(msgspec.Struct, frozen=True, kw_only=True, tag="note"):
    """What the next hub must know of the session, for the keeper an opaque text; with it, all events up to number
    ``upto`` are accounted for.

    ``will``: what is asked of debugpy before the socket is closed when no hub came for ``lease_s`` seconds.
    """

    session: str
    note: bytes
    upto: int
    lease_s: float
    will: list[WillRequest]


class Close(msgspec.Struct, frozen=True, kw_only=True, tag="close"):
    """Let go of the socket and forget the session."""

    session: str


HubToKeeper = Open | Request | Note | Close


# From the keeper ---------------------------------------------------------------------------------------------------


class KeptEvent(msgspec.Struct, frozen=True, array_like=True):
    """``body``: JSON."""

    number: int
    at_ns: int
    event: str
    body: bytes


class KeptSession(msgspec.Struct, frozen=True, kw_only=True):
    """``asked``: commands of earlier hubs that debugpy hasn't answered, with the time of each. ``dropped``: events that
    were let go. ``ended``: why the connection is over; None while it holds. ``freed``: the will has been begun, so the
    worker isn't traced any more."""

    session: str
    host: str
    port: int
    opened_ns: int
    note: bytes
    events: list[KeptEvent]
    dropped: int
    asked: list[tuple[str, int]]
    ended: str | None
    freed: bool = False


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag="snapshot"):
    """In parts, all but the last with ``more``: what many sessions kept doesn't fit into one message."""

    sessions: list[KeptSession]
    more: bool = False


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag="opened"):
    """``error``: why not; ``held_by``: who else is connected to this adapter, where that can be told."""

    session: str
    error: str | None = None
    held_by: str | None = None


class Response(msgspec.Struct, frozen=True, kw_only=True, tag="response"):
    """``body``: JSON. ``refused``: it never reached debugpy."""

    session: str
    tag: int
    success: bool
    message: str | None
    body: bytes
    refused: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    session: str
    event: KeptEvent


class Orphan(msgspec.Struct, frozen=True, kw_only=True, tag="orphan"):
    """A request of an earlier hub was answered."""

    session: str
    command: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    session: str
    reason: str


KeeperToHub = Challenge | KeeperHello | Refused | Snapshot | Opened | Response | Event | Orphan | Ended
