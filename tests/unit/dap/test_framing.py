"""DAP's frames: any split of a stream gives the same messages, and what is broken is refused at once."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydebug.dap.framing import (
    MAX_BODY,
    MAX_HEADER,
    FrameReader,
    FramingError,
    Message,
    request_frame,
    response_frame,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {"seq": st.integers(0, 2**40), "type": st.sampled_from(["request", "response", "event"])},
    optional={
        "command": st.text(),
        "event": st.text(),
        "request_seq": st.integers(0, 2**40),
        "success": st.booleans(),
        "message": st.none() | st.text(),
        "body": json_values,
        "arguments": json_values,
    },
)
headers = st.sampled_from(
    [
        "Content-Length: {}\r\n\r\n",
        "content-length:{}\r\n\r\n",
        "CONTENT-LENGTH:   {} \r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        "Content-Length: {0}\r\nContent-Length: {0}\r\n\r\n",
    ]
)


def frame(body: bytes, header: str = "Content-Length: {}\r\n\r\n") -> bytes:
    return header.format(len(body)).encode() + body


def read(stream: bytes, cuts: list[int] | None = None) -> tuple[list[Message], str | None]:
    """All messages, and the error that ended it. ``cuts``: where the stream is cut into pieces."""
    reader, found, at = FrameReader(), [], 0
    for end in [*sorted(min(cut, len(stream)) for cut in cuts or []), len(stream)]:
        try:
            for message in reader.feed(stream[at:end]):
                found.append(message)
        except FramingError as error:
            return found, str(error)
        at = end
    return found, None


@given(st.lists(st.tuples(messages, headers, st.booleans()), max_size=5), st.lists(st.integers(0, 2000)))
def test_any_split_gives_the_same_messages(said: list[tuple[dict[str, Any], str, bool]], cuts: list[int]) -> None:
    stream = b"".join(
        frame(json.dumps(message, ensure_ascii=ascii_only).encode(), header) for message, header, ascii_only in said
    )
    found, error = read(stream, cuts)
    assert error is None
    assert [message.seq for message in found] == [message["seq"] for message, _, _ in said]
    for got, (message, _, _) in zip(found, said, strict=True):
        assert (got.type, got.event, got.command) == (
            message["type"],
            message.get("event", ""),
            message.get("command", ""),
        )
        assert json.loads(bytes(got.body)) == message.get("body")


@given(st.lists(messages, max_size=3), st.binary(max_size=200), st.lists(st.integers(0, 2000)))
def test_any_split_of_a_broken_stream_ends_alike(said: list[dict[str, Any]], garbage: bytes, cuts: list[int]) -> None:
    """What was said before the bad frame is heard, however the bytes came."""
    stream = b"".join(frame(json.dumps(message).encode()) for message in said) + garbage
    whole, error = read(stream)
    pieces, error_in_pieces = read(stream, cuts)
    assert pieces == whole
    assert len(whole) >= len(said)
    assert error_in_pieces == error


GOOD = b'{"seq":1,"type":"event","event":"x"}'


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (b"Content-Length: -5\r\n\r\n", "Content-Length is b'-5'"),
        (b"Content-Length: +5\r\n\r\n", "Content-Length is"),
        (b"Content-Length: 0x10\r\n\r\n", "Content-Length is"),
        (b"Content-Length: 1e3\r\n\r\n", "Content-Length is"),
        (b"Content-Length: \r\n\r\n", "Content-Length is b''"),
        (b"Content-Length: \xb2\r\n\r\n", "Content-Length is"),
        (b"Content-Length: " + b"9" * 400 + b"\r\n\r\n", "Content-Length is"),
        (b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 1), "at most"),
        (b"Content-Length: 104857600\r\n\r\n", "a frame of 104857600 bytes"),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "two lengths"),
        (b"Content-Type: x\r\n\r\n", "without Content-Length"),
        (b"\r\n\r\n", "without a colon"),
        (b"garbage\r\n\r\n", "without a colon"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "without a colon"),
        (b"A" * MAX_HEADER, "no end of the header"),
        (b"Content-Length: 5\n\n" + b"A" * MAX_HEADER, "no end of the header"),
        (frame(b""), "isn't a DAP message"),
        (frame(b"null"), "isn't a DAP message"),
        (frame(b"[]"), "isn't a DAP message"),
        (frame(b"7"), "isn't a DAP message"),
        (frame(b"{"), "isn't a DAP message"),
        (frame(GOOD + b"x"), "isn't a DAP message"),
        (frame(b"\xff\xfe" * 8), "isn't a DAP message"),
        (frame(b"[" * 200_000), "isn't a DAP message"),
        (frame(b'{"seq":1,"type":"event","event":"x","body":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "DAP message"),
        (frame(b'{"type":"event","event":"x"}'), "seq"),
        (frame(b'{"seq":"1","type":"event","event":"x"}'), "seq"),
        (frame(b'{"seq":1,"event":"x"}'), "type"),
        (frame(b'{"seq":1,"type":"other"}'), "type"),
        (frame(b'{"seq":1,"type":5}'), "type"),
        (frame(b'{"seq":1,"type":"event","event":{}}'), "event"),
        (frame(b'{"seq":1,"type":"response","request_seq":"1"}'), "request_seq"),
        (frame(b'{"seq":1,"type":"response","request_seq":1,"success":"yes"}'), "success"),
        (frame(b'{"seq":1,"type":"response","request_seq":1,"message":[]}'), "message"),
        (frame(b'{"seq":1,"type":"event","event":"x","body":1' + b"0" * 5000 + b',"more":NaN}'), "DAP message"),
    ],
)
def test_what_is_broken_is_refused(stream: bytes, why: str) -> None:
    found, error = read(frame(GOOD) + stream)
    assert [message.event for message in found] == ["x"]
    assert error is not None
    assert why in error
    assert len(error) < 400


def test_nothing_is_read_after_a_bad_frame() -> None:
    reader = FrameReader()
    with pytest.raises(FramingError):
        list(reader.feed(b"Content-Length: 99999999\r\n\r\n"))
    assert read(frame(b"[]") + frame(GOOD))[0] == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'"half a pair: \\ud83d"', "half a pair: \ufffd"),
        (b'"\\ude00\\ud83d"', "\ufffd\ufffd"),
        (b'"a whole one: \\ud83d\\ude00"', "a whole one: \U0001f600"),
        (b'"no utf-8: \xff"', "no utf-8: \ufffd"),
        (b'{"\\ud800": NaN, "b": [Infinity, "\\udfff"]}', {"\ufffd": None, "b": [None, "\ufffd"]}),
    ],
)
def test_text_that_a_program_may_print_is_mended(body: bytes, text: Any) -> None:
    found, error = read(frame(b'{"seq":1,"type":"event","event":"output","body":' + body + b"}"))
    assert error is None
    assert msgspec.json.decode(found[0].body) == text


def test_memory_is_bounded_by_the_longest_frame() -> None:
    """A peer that says much and means nothing costs no more than it said before it was refused."""
    reader = FrameReader(max_body=1000)
    for _ in range(MAX_HEADER // 64 - 1):
        assert list(reader.feed(b"A" * 64)) == []
    with pytest.raises(FramingError):
        list(reader.feed(b"A" * 64))


@given(st.integers(0, 2**40), st.text(), json_values)
def test_requests_come_back(seq: int, command: str, arguments: Any) -> None:
    (found,), error = read(request_frame(seq, command, json.dumps(arguments).encode()))
    assert error is None
    assert (found.seq, found.type, found.command) == (seq, "request", command)


@given(st.integers(0, 2**40), st.text(), st.booleans())
def test_responses_come_back(seq: int, command: str, success: bool) -> None:
    (found,), _ = read(response_frame(7, seq, command, success=success, message="m"))
    assert (found.request_seq, found.command, found.success, found.message) == (seq, command, success, "m")
