"""Dialing the helper or the keeper of a node, and the hub's half of the handshake (``raydebug.api.helper``).

Nothing here knows Ray: addresses and headers are handed in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import aiohttp
import msgspec

from raydebug import __version__
from raydebug.api.helper import Answer, Challenge, Refused
from raydebug.api.names import PROTOCOL
from raydebug.api.proof import nonce, proof, same
from raydebug.api.topology import HelperState, NodeId

log = logging.getLogger(__name__)

SPOKEN: Final = (PROTOCOL, PROTOCOL - 1)
HANDSHAKE_S: Final = 15.0
RETRY_REFUSED_S: Final = 30.0
"""For what only a person can mend, and for a hub that another one has replaced."""
MESSAGE_BYTES: Final = 16 << 20

_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True)
class NodeAddress:
    """``url``: of the node's agent, ``http://ip:port``. ``headers``: what the agent asks for (Ray's token)."""

    node_id: NodeId
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


class Unreachable(Exception):  # noqa: N818
    """Why a connection isn't there, how that counts, and how soon to try again (None: by backoff)."""

    def __init__(self, state: HelperState, note: str, retry_s: float | None = None) -> None:
        super().__init__(note)
        self.state = state
        self.note = note
        self.retry_s = retry_s


def why_not(error: Exception, address: NodeAddress, what: str) -> Unreachable:
    """What an error that ended a connection, or kept it from coming up, means."""
    if isinstance(error, Unreachable):
        return error
    if isinstance(error, aiohttp.ClientError | OSError | asyncio.TimeoutError):
        reason = str(error) or type(error).__name__
        return Unreachable("connecting", f"Ray's agent at {address.url} can't be reached: {reason}")
    log.error("the connection to the %s of node %s failed", what, address.node_id, exc_info=error)
    return Unreachable("connecting", f"The hub failed on this connection: {error}")


def note_for_status(status: int, body: str, node_id: NodeId, what: str = "helper") -> Unreachable:
    """What an agent's refusal of the upgrade means."""
    node = f"node {node_id[:8]}"
    said = f": {body.strip()[:300]}" if body.strip() else "."
    if status == 404:
        fix = "`pip install raydebug` into Ray's environment there, then restart Ray on that node"
        return Unreachable("missing", f"raydebug isn't installed on {node}. {fix}.", RETRY_REFUSED_S)
    if status == 204:
        return Unreachable("missing", f"No {what} runs on {node} yet.")
    if status in (401, 403):
        note = f"Ray's agent on {node} refused the hub's token (HTTP {status}){said}"
        return Unreachable("refused", note, RETRY_REFUSED_S)
    if status == 503:
        return Unreachable("connecting", f"The {what} on {node} isn't up{said}")
    return Unreachable("connecting", f"Ray's agent on {node} answered HTTP {status}{said}")


async def dial(
    session: aiohttp.ClientSession,
    address: NodeAddress,
    path: str,
    what: str,
    max_bytes: int = MESSAGE_BYTES,
) -> aiohttp.ClientWebSocketResponse:
    """Raises Unreachable, aiohttp.ClientError, OSError or asyncio.TimeoutError."""
    url = address.url.rstrip("/") + path

    async def connect() -> aiohttp.ClientWebSocketResponse:
        socket = await session.ws_connect(
            url, headers=address.headers, compress=0, max_msg_size=max_bytes, heartbeat=20
        )
        return cast(aiohttp.ClientWebSocketResponse, socket)  # a generic class from aiohttp 3.14 on

    try:
        return await asyncio.wait_for(connect(), HANDSHAKE_S)
    except aiohttp.WSServerHandshakeError as error:
        said = await _ask_why(session, address, url) if error.status == 503 else ""
        raise note_for_status(error.status, said, address.node_id, what) from error


async def _ask_why(session: aiohttp.ClientSession, address: NodeAddress, url: str) -> str:
    """What the agent says to a plain request: the body of a refused upgrade is lost in aiohttp."""
    timeout = aiohttp.ClientTimeout(total=5)
    async with session.get(url, headers=address.headers, timeout=timeout) as answer:
        return await answer.text() if answer.status == 503 else ""


async def prove(
    ws: aiohttp.ClientWebSocketResponse, node_id: NodeId, secret: str, decode: Callable[[bytes], Any], what: str
) -> tuple[Challenge, Any]:
    """The challenge, and the hello of who has proved itself. ``decode``: of all its messages. Raises Unreachable."""
    node = f"node {node_id[:8]}"
    challenge = await _receive(ws, node, decode, what)
    if not isinstance(challenge, Challenge):
        raise Unreachable("refused", f"What answers on {node} isn't a {what}.", RETRY_REFUSED_S)
    if challenge.protocol not in SPOKEN:
        older = "there" if challenge.protocol < PROTOCOL else "on the head"
        note = (
            f"The {what} on {node} is raydebug {challenge.version} (protocol {challenge.protocol}), the hub is "
            f"{__version__} (protocol {PROTOCOL}). `pip install -U raydebug` {older}, then restart Ray there."
        )
        raise Unreachable("refused", note, RETRY_REFUSED_S)
    if challenge.node_id != node_id:
        raise Unreachable("refused", f"The {what} of {challenge.node_id[:8]} answers for {node}.", RETRY_REFUSED_S)
    mine = nonce()
    given = proof(secret, "hub", node_id, challenge.nonce, mine)
    await ws.send_bytes(_encode(Answer(protocol=challenge.protocol, version=__version__, nonce=mine, proof=given)))
    hello = await _receive(ws, node, decode, what)
    if isinstance(hello, Refused):
        raise Unreachable("refused", f"The {what} on {node} refused: {hello.reason}.", RETRY_REFUSED_S)
    shown = getattr(hello, "proof", None)
    if not isinstance(shown, str) or not same(shown, proof(secret, "helper", node_id, challenge.nonce, mine)):
        note = f"What answers on {node} does not know this cluster's secret; it is not trusted."
        raise Unreachable("refused", note, RETRY_REFUSED_S)
    return challenge, hello


async def _receive(
    ws: aiohttp.ClientWebSocketResponse, node: str, decode: Callable[[bytes], Any], what: str
) -> msgspec.Struct:
    try:
        frame = await ws.receive(timeout=HANDSHAKE_S)
        if frame.type is not aiohttp.WSMsgType.BINARY:
            raise Unreachable("connecting", f"The {what} hung up during the handshake.")
        return cast(msgspec.Struct, decode(frame.data))
    except msgspec.MsgspecError as error:
        note = f"The {what} on {node} says what this hub can't read: {error}."
        raise Unreachable("refused", note, RETRY_REFUSED_S) from error
