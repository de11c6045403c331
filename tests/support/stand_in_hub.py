"""A hub without facts: takes the hub's command line, serves echoes on the unix socket. For tests of the gateway.

``STAND_IN_CRASH=1``: writes a line to its log and exits at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading

from aiohttp import WSMsgType, web


async def _echo(request: web.Request) -> web.StreamResponse:
    ws = web.WebSocketResponse(max_msg_size=64 << 20, compress=False)
    await ws.prepare(request)
    async for message in ws:
        if message.type is WSMsgType.TEXT:
            await ws.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await ws.send_bytes(message.data)
    return ws


async def _pump(request: web.Request) -> web.StreamResponse:
    """Sends as fast as it may; ``/debug/sent`` says how much that was."""
    ws = web.WebSocketResponse(compress=False)
    await ws.prepare(request)
    chunk = os.urandom(65536)
    for _ in range(int(request.query["chunks"])):
        await ws.send_bytes(chunk)
        request.app["sent"]["bytes"] += len(chunk)
    await ws.close()
    return ws


async def _slow_reader(request: web.Request) -> web.StreamResponse:
    """Never reads what the client sends."""
    ws = web.WebSocketResponse(compress=False)
    await ws.prepare(request)
    await asyncio.sleep(60)
    return ws


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for i in range(5):
        await response.write(b"part %d\n" % i)
        await asyncio.sleep(0.05)
    return response


async def _cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"half an answer")
    os._exit(3)


async def _upload(request: web.Request) -> web.StreamResponse:
    total = 0
    async for chunk in request.content.iter_any():
        total += len(chunk)
    return web.json_response({"bytes": total})


async def _any(request: web.Request) -> web.StreamResponse:
    return web.json_response(
        {
            "method": request.method,
            "path": request.raw_path,
            "headers": [[k, v] for k, v in request.headers.items()],
            "argv": sys.argv[1:],
            "pid": os.getpid(),
            "sent": request.app["sent"]["bytes"],
        },
        headers={"X-Hub": "stand-in", "Set-Cookie": "a=b"},
    )


async def _refuse(_: web.Request) -> web.StreamResponse:
    return web.json_response({"error": {"code": "origin", "message": "no", "hint": "none"}}, status=403)


def _exit_at_eof() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


async def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--gcs-address", "--session-dir", "--socket"):
        parser.add_argument(name, required=True)
    parser.add_argument("--dashboard-url")
    parser.add_argument("--watch-stdin", action="store_true")
    args = parser.parse_args()
    if os.environ.get("STAND_IN_CRASH"):
        print("<b>stand-in: I always crash</b>", file=sys.stderr)
        raise SystemExit(7)
    threading.Thread(target=_exit_at_eof, daemon=True).start()
    app = web.Application()
    app["sent"] = {"bytes": 0}
    app.router.add_get("/debug/ws", _echo)
    app.router.add_get("/debug/pump", _pump)
    app.router.add_get("/debug/slow", _slow_reader)
    app.router.add_get("/debug/stream", _stream)
    app.router.add_get("/debug/cut", _cut)
    app.router.add_get("/debug/refuse", _refuse)
    app.router.add_route("*", "/debug/upload", _upload)
    app.router.add_route("*", "/{tail:.*}", _any)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, args.socket).start()
    os.chmod(args.socket, 0o600)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
