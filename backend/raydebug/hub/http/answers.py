"""Bytes of answers: JSON, errors, compression."""

from __future__ import annotations

import asyncio
import gzip
import html
from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web

from raydebug.api.errors import ErrorAnswer, ErrorBody

SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "SAMEORIGIN",
}
_WORTH_PACKING: Final = 1024
_OFF_THE_LOOP: Final = 64 * 1024
_encoder: Final = msgspec.json.Encoder()


def accepts_gzip(headers: Mapping[str, str]) -> bool:
    for item in headers.get("Accept-Encoding", "").lower().split(","):
        name, _, weight = item.partition(";")
        if name.strip() in ("gzip", "*"):
            value = weight.replace(" ", "").removeprefix("q=")
            return value not in ("0", "0.0", "0.00", "0.000")
    return False


async def json_answer(answer: msgspec.Struct, headers: Mapping[str, str], status: int = 200) -> web.Response:
    response = web.Response(
        body=_encoder.encode(answer),
        status=status,
        headers={"Content-Type": "application/json", "Cache-Control": "no-store"},
    )
    await pack(response, headers)
    return response


async def pack(response: web.Response, headers: Mapping[str, str]) -> None:
    """Compress an answer over 1 KB for a client that takes it; a large one off the loop."""
    body = response.body
    if not isinstance(body, bytes) or len(body) <= _WORTH_PACKING or "Content-Encoding" in response.headers:
        return
    response.headers["Vary"] = "Accept-Encoding"
    if not accepts_gzip(headers):
        return
    if len(body) < _OFF_THE_LOOP:
        response.body = gzip.compress(body, 5, mtime=0)
    else:
        response.body = await asyncio.to_thread(gzip.compress, body, 5, mtime=0)
    response.headers["Content-Encoding"] = "gzip"


def error_answer(status: int, error: ErrorBody, *, as_page: bool, headers: Mapping[str, str]) -> web.Response:
    """An error as JSON, or as a plain page for somebody who opened the page itself in a browser."""
    all_headers = {**headers, "Cache-Control": "no-store"}
    if not as_page:
        body = _encoder.encode(ErrorAnswer(error))
        return web.Response(body=body, status=status, headers={**all_headers, "Content-Type": "application/json"})
    text = (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>raydebug</title>\n'
        f"<h1>raydebug: {html.escape(error.message)}</h1>\n<p>{html.escape(error.hint)}</p>\n"
    )
    all_headers |= {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'self'",
    }
    return web.Response(text=text, status=status, headers=all_headers)
