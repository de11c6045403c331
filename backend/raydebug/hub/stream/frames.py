"""Websocket frames made once and written to many connections.

A server's frames aren't masked, so the same bytes fit every connection; also compressed ones, since each is compressed
on its own (a reset context is always allowed by RFC 7692). aiohttp would compress each message anew per connection.
"""

from __future__ import annotations

import asyncio
import struct
import zlib
from dataclasses import dataclass
from typing import Final

import msgspec

from raydebug.api.stream import HubMessage

_FIN_BINARY: Final = 0x82
_COMPRESSED: Final = 0x40
WORTH_PACKING: Final = 4096
_OFF_THE_LOOP: Final = 64 * 1024
_LEVEL: Final = 3

_encoder: Final = msgspec.msgpack.Encoder()


@dataclass(frozen=True)
class Frame:
    """``packed`` is for clients that negotiated permessage-deflate; None where compressing isn't worth it."""

    plain: bytes
    packed: bytes | None = None

    def bytes_for(self, deflate: bool) -> bytes:
        return self.packed if deflate and self.packed is not None else self.plain


def frame(message: HubMessage) -> Frame:
    """A message as it is written, uncompressed."""
    return Frame(_framed(_encoder.encode(message), _FIN_BINARY))


async def frame_for_many(message: HubMessage, *, deflate: bool) -> Frame:
    """The same, with a compressed form beside it where it is worth it; a large one is compressed off the loop."""
    payload = _encoder.encode(message)
    plain = _framed(payload, _FIN_BINARY)
    if not deflate or len(payload) < WORTH_PACKING:
        return Frame(plain)
    packed = _deflate(payload) if len(payload) < _OFF_THE_LOOP else await asyncio.to_thread(_deflate, payload)
    return Frame(plain, _framed(packed, _FIN_BINARY | _COMPRESSED))


def _deflate(payload: bytes) -> bytes:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
    data = compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return data.removesuffix(b"\x00\x00\xff\xff")


def _framed(payload: bytes, first: int) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((first, size)) + payload
    if size < 1 << 16:
        return struct.pack("!BBH", first, 126, size) + payload
    return struct.pack("!BBQ", first, 127, size) + payload
