"""The hub as a process: ``python -m raydebug.hub``."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


def start(tmp_path: Path, *more: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "raydebug.hub"),
            *("--gcs-address", "127.0.0.1:1", "--session-dir", str(tmp_path / "session")),
            *("--socket", str(tmp_path / "hub.sock"), *more),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


@contextlib.contextmanager
def running(tmp_path: Path, *more: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    hub = start(tmp_path, *more, env=env)
    try:
        assert hub.stdout is not None
        assert hub.stdout.readline() == "ready\n"
        yield hub
    finally:
        hub.kill()
        hub.wait()
        for pipe in (hub.stdin, hub.stdout, hub.stderr):
            if pipe is not None:
                pipe.close()


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(str(self._path))


def get(tmp_path: Path, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = _Unix(tmp_path / "hub.sock")
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_serves_and_ends_with_stdin(tmp_path: Path) -> None:
    with running(tmp_path, "--watch-stdin", "--dashboard-url", "http://h:8265") as hub:
        facts = (tmp_path / "hub.sock").stat()
        assert stat.S_ISSOCK(facts.st_mode)
        assert facts.st_mode & 0o777 == 0o600
        status, body = get(tmp_path, "/debug/api/v1/health")
        assert (status, json.loads(body)["pid"]) == (200, hub.pid)
        endpoint = json.loads((tmp_path / "session" / "raydebug" / "hub.json").read_text())
        assert (endpoint["url"], endpoint["pid"]) == ("http://h:8265", hub.pid)
        assert Path(f"/proc/{hub.pid}/oom_score_adj").read_text().strip() == "500"
        assert hub.stdin is not None
        hub.stdin.close()
        assert hub.wait(10) == 0
    assert not (tmp_path / "hub.sock").exists()


def test_ends_by_signal_without_watching_stdin(tmp_path: Path) -> None:
    with running(tmp_path) as hub:
        assert hub.stdin is not None
        hub.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            hub.wait(0.5)
        hub.send_signal(signal.SIGTERM)
        assert hub.wait(10) == 0


def test_a_dead_hubs_socket_is_replaced_a_live_ones_not(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        second = start(tmp_path)
        _, log = second.communicate(timeout=20)
        assert second.returncode == 1
        assert "another hub serves" in log
        first.kill()
        first.wait()
        assert (tmp_path / "hub.sock").exists()
        with running(tmp_path):
            assert get(tmp_path, "/debug/api/v1/health")[0] == 200


def test_no_token_in_the_log(tmp_path: Path) -> None:
    token = "t0ken" * 8 + "xyz"  # as long as ours
    with running(tmp_path, "--log-level", "debug", env={"RAYDEBUG_TOKEN": token, "RAYDEBUG_OPEN": "0"}) as hub:
        status, _ = get(tmp_path, f"/debug/{token}?token={token}", {"X-Raydebug-Token": token})
        assert status == 404
        status, _ = get(tmp_path, f"/debug/api/v1/topology?token={token}", {"X-Raydebug-Token": token})
        assert status == 400
        assert get(tmp_path, "/debug/api/v1/grants", {"X-Raydebug-Token": token})[0] == 200
        hub.send_signal(signal.SIGINT)
        _, log = hub.communicate(timeout=10)
        assert "/debug/api/v1/grants" in log
        assert token not in log
    assert token not in (tmp_path / "session" / "raydebug" / "hub.json").read_text()


def test_open_makes_everybody_debugger(tmp_path: Path) -> None:
    with running(tmp_path, env={"RAYDEBUG_OPEN": "1"}):
        _, body = get(tmp_path, "/debug/api/v1/whoami")
        assert json.loads(body)["role"] == "debugger"


def test_usage(tmp_path: Path) -> None:
    hub = subprocess.run(
        [sys.executable, "-m", "raydebug.hub", "--gcs-address", "x:1", "--session-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert hub.returncode == 2
    assert "--socket" in hub.stderr
