from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from raydebug.plugin import supervisor as module
from raydebug.plugin.sockets import socket_path
from raydebug.plugin.supervisor import Supervisor, child_env, log_tail, restart_delay, trim_log

SERVES = "import sys; print('ready', flush=True); print('log line', file=sys.stderr, flush=True); sys.stdin.read()"
CRASHES = "import sys; print('no luck', file=sys.stderr); sys.exit(7)"


@contextlib.asynccontextmanager
async def running(tmp_path: Path, code: str) -> AsyncIterator[Supervisor]:
    child = Supervisor(
        "child", lambda: [sys.executable, "-c", code], str(tmp_path / "log"), socket_path=str(tmp_path / "socket")
    )
    task = asyncio.ensure_future(child.run())
    try:
        yield child
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(probe: Callable[[], bool], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not probe():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_comes_back_at_once_after_a_kill(tmp_path: Path) -> None:
    async with running(tmp_path, SERVES) as child:
        assert await child.wait_ready(20)
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.pid != first and child.state == "ready")
        assert child.last_exit == "signal 9"
        second = child.pid
        assert second is not None
    await until(lambda: not alive(second))
    assert "log line" in log_tail(str(tmp_path / "log"))


async def test_gives_up_trying_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_S", (0.0,))
    async with running(tmp_path, CRASHES) as child:
        await until(lambda: child.state == "failing")
        assert child.crashes == 5
        assert child.last_exit == "exit status 7"
        assert child.retry_at is not None
        assert child.retry_at > time.time() + 30
        assert log_tail(str(tmp_path / "log")).splitlines() == ["no luck"] * 5


async def test_what_cannot_be_started_is_a_crash(tmp_path: Path) -> None:
    child = Supervisor("child", lambda: ["/nonexistent"], str(tmp_path / "log"), socket_path=str(tmp_path / "s"))
    task = asyncio.ensure_future(child.run())
    await until(lambda: child.crashes >= 1)
    assert "could not be started" in (child.last_exit or "")
    task.cancel()


def test_delays() -> None:
    assert restart_delay([(100.0, True)], 100.0) == (0.0, False)
    assert restart_delay([(99.0, False), (100.0, True)], 100.0) == (0.5, False)
    assert restart_delay([(100.0, False)] * 5, 100.0) == (60.0, True)
    # one that serves and is killed again and again is slowed down, never given up
    assert restart_delay([(100.0, True)] * 20, 100.0) == (30.0, False)
    assert restart_delay([(10.0, False)] * 5, 100.0)[1] is False


def test_log_stays_small_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"x" * 1000)
        trim_log(str(path), 999)
        writer.write(b"after\n")
    assert path.read_bytes() == b"after\n"
    assert len((tmp_path / "log.1").read_bytes()) == 1000
    assert "No such file" in log_tail(str(tmp_path / "none"))


def test_relative_python_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "lib:/abs")
    assert child_env()["PYTHONPATH"] == f"{tmp_path}/lib:/abs"


def test_long_session_directories_get_a_short_private_socket(tmp_path: Path) -> None:
    short = socket_path(str(tmp_path)[:60], "raydebug-hub.sock") if len(str(tmp_path)) < 60 else None
    assert short is None or short.endswith("/sockets/raydebug-hub.sock")
    path = socket_path("/tmp/" + "x" * 100, "raydebug-hub.sock")
    private = os.path.dirname(path)
    try:
        assert len(path) < 100
        assert path.endswith("/raydebug-hub.sock")
        assert os.stat(private).st_mode & 0o777 == 0o700
        assert socket_path("/tmp/" + "x" * 100, "raydebug-hub.sock") == path
        os.chmod(private, 0o755)  # not as we made it: somebody else's, perhaps
        other = os.path.dirname(socket_path("/tmp/" + "x" * 100, "raydebug-hub.sock"))
        assert other != private
        os.rmdir(other)
    finally:
        os.rmdir(private)
