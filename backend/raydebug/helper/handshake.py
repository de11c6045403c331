"""The helper's and the keeper's half of the handshake: see ``raydebug.api.helper``."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable

import msgspec
from websockets.asyncio.server import Server, ServerConnection, unix_serve

from raydebug import __version__
from raydebug.api.helper import Answer, Challenge, Refused
from raydebug.api.names import PROTOCOL
from raydebug.api.proof import nonce, proof, same

log = logging.getLogger("raydebug.helper")

HANDSHAKE_S = 10.0
MESSAGE_BYTES = 1 << 20

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Answer).decode


async def serve_privately(
    connected: Callable[[ServerConnection], Awaitable[None]], socket_path: str, max_bytes: int = MESSAGE_BYTES
) -> Server:
    """A websocket server on a unix socket that is ours alone from its first moment on."""
    before = os.umask(0o177)
    try:
        server: Server = await unix_serve(
            connected,
            socket_path,
            compression=None,
            max_size=max_bytes,
            ping_interval=20,
            ping_timeout=60,
            server_header=None,
            logger=_quiet_logger(),
        )
        return server
    finally:
        os.umask(before)


async def admit(hub: ServerConnection, node_id: str, secret: str, hello: Callable[[str], msgspec.Struct]) -> bool:
    """Whether who has connected proved itself; ``hello`` makes the answer from our own proof."""
    mine = nonce()
    await hub.send(_encode(Challenge(protocol=PROTOCOL, version=__version__, node_id=node_id, nonce=mine)))
    try:
        answer = _decode(binary(await asyncio.wait_for(hub.recv(), HANDSHAKE_S)))
    except (asyncio.TimeoutError, msgspec.MsgspecError, TypeError):
        await hub.close(1002, "no answer to the challenge")
        return False
    if answer.protocol not in (PROTOCOL, PROTOCOL - 1):
        reason = f"{node_id[:8]} (raydebug {__version__}) speaks protocol {PROTOCOL}, the hub {answer.protocol}"
    elif not same(answer.proof, proof(secret, "hub", node_id, mine, answer.nonce)):
        reason = "the hub does not know this cluster's secret"
    else:
        await hub.send(_encode(hello(proof(secret, "helper", node_id, mine, answer.nonce))))
        return True
    log.warning("a hub was refused: %s", reason)
    await hub.send(_encode(Refused(reason=reason)))
    await hub.close(1008, "refused")
    return False


def binary(frame: str | bytes) -> bytes:
    if isinstance(frame, str):
        raise TypeError("a text frame")
    return frame


def _quiet_logger() -> logging.Logger:
    logger = logging.getLogger("raydebug.helper.websocket")
    logger.setLevel(logging.WARNING)
    return logger
