"""A dashboard of a few answers, on a real port, for the commands to talk to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from raydebug.api.errors import ErrorAnswer, ErrorBody
from raydebug.api.health import Health
from raydebug.api.names import API_PREFIX, PROTOCOL

Answer = tuple[int, bytes]
RAY = {"/api/version": (200, b'{"version": "4", "ray_version": "2.60.0", "session_name": "s"}')}


def error(status: int, code: str, message: str, hint: str = "") -> Answer:
    return status, msgspec.json.encode(ErrorAnswer(error=ErrorBody(code=code, message=message, hint=hint)))


def health(version: str = "0.1.0", protocol: int = PROTOCOL, ray: str = "unknown", python: str = "3.11.0") -> Answer:
    body = Health(
        status="ok",
        version=version,
        protocol=protocol,
        ray_version=ray,
        python_version=python,
        pid=0,
        start_ns=0,
        auth="off",
    )
    return 200, msgspec.json.encode(body)


class FakeDashboard:
    """``answers``: by path without query. ``seen``: the paths asked for, with their queries."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, Answer] = dict(RAY)
        self.seen: list[str] = []

    def hub(self, **documents: msgspec.Struct | Answer) -> FakeDashboard:
        """A hub that is up, with these documents below its API."""
        for name, answer in {"health": health(), **documents}.items():
            body = (200, msgspec.json.encode(answer)) if isinstance(answer, msgspec.Struct) else answer
            self.answers[f"{API_PREFIX}/{name}"] = body
        return self


@contextmanager
def dashboard() -> Iterator[FakeDashboard]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.seen.append(self.path)
            status, body = fake.answers.get(self.path.partition("?")[0], (404, b"404: Not Found"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake = FakeDashboard(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
