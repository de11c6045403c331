"""The commands against a real hub on a port of its own, as on a head."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from raydebug.cli import COMMANDS, client, main
from raydebug.cli.errors import UnreachableError
from tests.support.cluster import free_port


class Head:
    """A hub whose session directory is the latest of a temporary Ray directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.session = root / "ray" / "session_1"
        self.session.mkdir(parents=True)
        (root / "ray" / "session_latest").symlink_to(self.session)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.proc = self._start()
        self.env = {"RAY_TMPDIR": str(root), "RAYDEBUG_ADDRESS": "", "RAY_ADDRESS": "", "RAYDEBUG_TOKEN": ""}

    def _start(self) -> subprocess.Popen[str]:
        proc = subprocess.Popen(
            [
                *(sys.executable, "-m", "raydebug.hub", "--gcs-address", "127.0.0.1:1"),
                *("--session-dir", str(self.session), "--socket", str(self.root / "h.sock")),
                *("--port", str(self.port), "--dashboard-url", self.url),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert proc.stdout is not None
        assert proc.stdout.readline() == "ready\n"
        return proc

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(main, arguments, env={**self.env, **(env or {})})

    @property
    def token(self) -> str:
        return (self.session / "raydebug" / "token").read_text().strip()


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    running = Head(tmp_path_factory.mktemp("head"))
    yield running
    running.proc.kill()
    running.proc.communicate()


def test_url_on_the_head(head: Head) -> None:
    assert head.run("url").stdout == f"{head.url}/debug#token={head.token}\n"
    assert head.run("url", "--token-only").stdout.strip() == head.token
    assert json.loads(head.run("url", "--json").stdout)["token"] == head.token
    # by the address alone, wherever the session directory is
    elsewhere = {"RAY_TMPDIR": "/nonexistent"}
    assert head.run("url", "--address", head.url, env=elsewhere).stdout.strip().endswith(head.token)
    assert head.run("url", "--session-dir", str(head.session), env=elsewhere).exit_code == 0


def test_grants(head: Head) -> None:
    made = head.run("grant", "--address", head.url, "--role", "viewer", "--name", "Ann", "--expires", "8h", "--json")
    assert made.exit_code == 0, made.output
    answer = json.loads(made.stdout)
    grant_id = answer["grant"]["grant_id"]
    assert answer["grant"]["expires_ns"] - answer["grant"]["made_ns"] == 8 * 3600 * 10**9
    assert grant_id in head.run("grant", "list", "--address", head.url).stdout
    # a viewer may not
    refused = head.run("grant", "list", "--address", head.url, "--token", answer["token"])
    assert refused.exit_code == 4
    assert "debugger" in refused.stderr
    assert head.run("grant", "--address", head.url, "revoke", grant_id).exit_code == 0
    assert head.run("grant", "list", "--address", head.url, env={"RAYDEBUG_TOKEN": answer["token"]}).exit_code == 4
    again = head.run("grant", "revoke", grant_id, "--address", head.url)
    assert again.exit_code == 1
    plain = head.run("grant", "--address", head.url, "--role", "debugger", "--name", "Bob", "--job", "01000000")
    assert plain.stdout.startswith(f"{head.url}/debug#token=")
    assert "jobs 01000000" in plain.stderr
    assert json.loads(head.run("grant", "list", "--address", head.url, "--json").stdout)["grants"]


def test_rotate(head: Head) -> None:
    old = head.token
    new = head.run("url", "--rotate", "--token-only").stdout.strip()
    assert new == head.token != old
    assert head.run("grant", "list", "--address", head.url, "--token", old).exit_code == 4
    assert head.run("grant", "list", "--address", head.url).exit_code == 0
    assert "rotate" in (head.session / "raydebug" / "audit.log").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("grant", "--role", "viewer"),
        ("grant", "--role", "king", "--name", "x"),
        ("grant", "--role", "viewer", "--name", "x", "--expires", "soon"),
        ("grant", "--role", "viewer", "--name", "x", "--expires", "9" * 400),  # not the same as never
        ("grant", "--role", "viewer", "--name", "\udcff"),  # as the shell passes on what isn't UTF-8
        ("grant", "revoke", "../health"),
        ("grant", "list", "--address", "http://[::1"),
        ("grant", "list", "--address", "http://"),
        ("grant", "list", "--address", "nonsense"),
        ("serve", "--address", "http://x"),
        ("nothing",),
    ],
)
def test_bad_usage_is_2(head: Head, arguments: tuple[str, ...]) -> None:
    assert head.run(*arguments).exit_code == 2


def test_nobody_there_is_3(head: Head) -> None:
    for address in (f"http://127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"):
        answer = head.run("grant", "list", "--address", address)
        assert answer.exit_code == 3, answer.output
    assert head.run("serve", "--address", f"127.0.0.1:{free_port()}").exit_code == 3
    assert head.run("url", env={"RAY_TMPDIR": "/nonexistent", "RAYDEBUG_ADDRESS": "http://127.0.0.1:1"}).exit_code == 3


def test_a_token_may_end_in_a_newline(head: Head) -> None:
    assert head.run("grant", "list", "--address", head.url, env={"RAYDEBUG_TOKEN": head.token + "\n"}).exit_code == 0


def test_help_needs_neither_ray_nor_the_commands() -> None:
    code = (
        "import sys; from raydebug.cli import main; main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    for module in ("'ray'", "aiohttp", "msgspec", "psutil", "rich"):
        assert module not in done.stdout


def test_a_command_of_another_build_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "ghost", ("raydebug.cli.ghost:ghost", "Not there."))
    monkeypatch.setitem(COMMANDS, "needy", ("needs_a_package:x", "Not there."))
    assert "no `ghost`" in CliRunner().invoke(main, ["ghost"]).output
    assert "needs the package needs_a_package" in CliRunner().invoke(main, ["needy"]).output
    assert "ghost" in CliRunner().invoke(main, ["--help"]).output


class _Ray(http.server.BaseHTTPRequestHandler):
    """A dashboard in Ray's token mode, and one without raydebug."""

    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers))
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            return
        right = self.headers.get("Authorization") == "Bearer rays"
        self.send_response(200 if right else 401)
        self.end_headers()
        self.wfile.write(b'{"grants": []}' if right else b"Unauthorized")

    def log_message(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def ray_dashboard() -> Iterator[tuple[str, list[dict[str, str]]]]:
    seen: list[dict[str, str]] = []
    handler = type("Handler", (_Ray,), {"seen": seen})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def test_rays_token_goes_only_where_ray_asks(head: Head, tmp_path: Path) -> None:
    with ray_dashboard() as (url, seen):
        done = head.run("grant", "list", "--address", url, "--token", "ours", env={"RAY_AUTH_TOKEN": "rays"})
        assert done.exit_code == 0, done.output
        assert [request.get("Authorization") for request in seen] == [None, "Bearer rays"]
        assert all(request["X-Raydebug-Token"] == "ours" for request in seen)
        assert not any("Mozilla" in request["User-Agent"] or "Origin" in request for request in seen)
        nothing = {"RAY_AUTH_TOKEN": "", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "none")}
        refused = head.run("grant", "list", "--address", url, env=nothing)
        assert refused.exit_code == 4
        assert "RAY_AUTH_TOKEN" in refused.stderr
        moved = head.run("grant", "list", "--address", f"{url}/moved", env={"RAY_AUTH_TOKEN": "rays"})
        assert moved.exit_code == 3


def test_our_token_stays_on_this_machine(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    here = client.Client(head.url)
    monkeypatch.setenv("RAY_TMPDIR", str(head.root))
    assert client.find_local_token(here) == head.token
    monkeypatch.setattr("raydebug.cli.local.is_here", lambda url: False)
    assert client.find_local_token(here) is None


def test_addresses(head: Head) -> None:
    with pytest.raises(UnreachableError):  # neither a dashboard nor a GCS
        client.resolve(f"127.0.0.1:{free_port()}")
    assert client.resolve("auto") == client.DEFAULT_URL
    assert client.resolve("https://h/x/debug/") == "https://h/x"
    assert client.resolve("ray://h:10001") == "http://h:8265"
    assert client.resolve(f"127.0.0.1:{head.port}") == head.url


def test_serve_alone(head: Head, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gcs:
        port = free_port()
        proc = subprocess.Popen(
            [
                *(sys.executable, "-m", "raydebug.cli", "serve", "--port", str(port)),
                *("--address", f"127.0.0.1:{gcs.getsockname()[1]}"),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RAY_TMPDIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)},
        )
        try:
            assert proc.stdout is not None
            assert proc.stdout.readline() == "ready\n"
            url = f"http://127.0.0.1:{port}"
            link = head.run("url", "--address", url)
            assert link.stdout.startswith(f"{url}/debug#token="), link.output
            token = link.stdout.strip().split("=")[1]
            assert head.run("grant", "list", "--address", url, "--token", token).exit_code == 0
            proc.terminate()
            assert proc.wait(10) == 0
        finally:
            proc.kill()
            proc.communicate()
