"""DAP's frames: a header ``Content-Length: N``, an empty line, N bytes of JSON. Only the envelope is decoded here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

MAX_HEADER: Final = 4096
MAX_BODY: Final = 16 << 20
"""debugpy's own limit (``JsonIOStream.MAX_BODY_SIZE``): more is said by a broken or hostile peer."""


class FramingError(ValueError):
    """What came isn't DAP; nothing after it can be read."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope of a message that came. ``body`` is left as JSON text."""

    seq: int
    type: Literal["request", "response", "event"]
    command: str = ""
    event: str = ""
    request_seq: int = 0
    success: bool = True
    message: str | None = None
    body: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(Message).decode
_SEPARATOR: Final = b"\r\n\r\n"


class FrameReader:
    """Cuts a stream into messages. ``feed`` bytes as they come."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body: Final = max_body
        self._buffer = bytearray()
        self._wanted: int | None = None

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole now, those before a bad frame too, at which it raises FramingError.

        All of them are to be taken before the next bytes are fed.
        """
        self._buffer += data
        while (body := self._cut()) is not None:
            yield _message(body)

    def _cut(self) -> bytes | None:
        buffer = self._buffer
        if self._wanted is None:
            end = buffer.find(_SEPARATOR, 0, MAX_HEADER)
            if end < 0:
                if len(buffer) >= MAX_HEADER:
                    raise FramingError(f"no end of the header in {MAX_HEADER} bytes")
                return None
            self._wanted = self._length(bytes(buffer[:end]))
            del buffer[: end + len(_SEPARATOR)]
        if len(buffer) < self._wanted:
            return None
        body = bytes(buffer[: self._wanted])
        del buffer[: self._wanted]
        self._wanted = None
        return body

    def _length(self, header: bytes) -> int:
        found = None
        for line in header.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon:
                raise FramingError(f"a header line without a colon: {line[:60]!r}")
            if name.strip().lower() == b"content-length":
                text = value.strip()
                if not text.isdigit() or len(text) > 12:
                    raise FramingError(f"Content-Length is {text[:60]!r}")
                if found is not None and found != int(text):
                    raise FramingError("a header with two lengths")
                found = int(text)
        if found is None:
            raise FramingError("a header without Content-Length")
        if found > self._max_body:
            raise FramingError(f"a frame of {found} bytes; at most {self._max_body} are read")
        return found


def _message(body: bytes) -> Message:
    try:
        body.decode()  # what is left as JSON text isn't looked at by the decoder
        return _decode(body)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
        try:
            return _decode(_mended(body))
        except (ValueError, RecursionError):
            raise FramingError(f"a body that isn't a DAP message: {error}") from error


def _mended(body: bytes) -> bytes:
    """debugpy passes on text that is no UTF-8, such as halves of surrogate pairs, and numbers that are no JSON: what a
    program prints must not end its session. Raises ValueError or RecursionError."""
    return msgspec.json.encode(_strict(json.loads(body.decode(errors="replace"))))


def _strict(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_strict(one) for one in value]
    if isinstance(value, dict):
        return {_strict(name): _strict(one) for name, one in value.items()}
    return value


def request_frame(seq: int, command: str, arguments: bytes = b"{}") -> bytes:
    """A request, ready to be written. ``arguments``: JSON."""
    head = msgspec.json.encode({"seq": seq, "type": "request", "command": command})
    body = head[:-1] + b',"arguments":' + arguments + b"}"
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def response_frame(seq: int, request_seq: int, command: str, *, success: bool, message: str) -> bytes:
    """An answer to an adapter's own request."""
    body = msgspec.json.encode(
        {
            "seq": seq,
            "type": "response",
            "request_seq": request_seq,
            "command": command,
            "success": success,
            "message": message,
        }
    )
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
