"""Starts a child process and keeps it running, from inside one of Ray's processes.

The child's end is bound to ours by a pipe: it exits when its stdin reaches end-of-file, however we end. No
``preexec_fn`` (a fork of a process full of gRPC threads) and no PR_SET_PDEATHSIG (it fires when the spawning thread
ends). What the child writes to stderr goes straight to its log file; we only keep that file from growing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

log = logging.getLogger(__name__)

State = Literal["starting", "ready", "failing"]

READY_TIMEOUT_S = 90.0
"""A child that serves nothing by then is taken for hung."""
STEADY_S = 10.0
"""A child that served that long starts with a clean sheet: it is started again at once."""
BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
GIVE_UP_CRASHES = 5
GIVE_UP_WINDOW_S = 60.0
GIVE_UP_RETRY_S = 60.0
LOG_BYTES = 4 << 20
LOG_CHECK_S = 20.0


def restart_delay(crashes: Sequence[tuple[float, bool]], now: float) -> tuple[float, bool]:
    """Seconds to wait before the next start, and whether it is hopeless for now.

    ``crashes``: when the child ended since it last ran steadily, and whether it had been serving.
    """
    recent = sum(1 for t, served in crashes if not served and now - t <= GIVE_UP_WINDOW_S)
    if recent >= GIVE_UP_CRASHES:
        return GIVE_UP_RETRY_S, True
    return BACKOFF_S[min(max(len(crashes) - 1, 0), len(BACKOFF_S) - 1)], False


def child_env() -> dict[str, str]:
    """Our environment; relative entries of PYTHONPATH made absolute, since the child starts in ``/``.

    ``python -m`` puts the working directory first on ``sys.path``: in a user's project folder a ``signal.py`` would
    replace the standard library's.
    """
    env = dict(os.environ)
    if path := env.get("PYTHONPATH"):
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(p) for p in path.split(os.pathsep) if p)
    return env


def trim_log(path: str, limit: int = LOG_BYTES) -> None:
    """Move what a log file holds to ``.1`` once it is over ``limit``; the writer, which appends, isn't disturbed."""
    with contextlib.suppress(OSError):
        if os.path.getsize(path) > limit:
            shutil.copyfile(path, path + ".1")
            os.truncate(path, 0)


def log_tail(path: str, lines: int = 30, limit: int = 8192) -> str:
    try:
        with open(path, "rb") as f:
            f.seek(max(0, os.fstat(f.fileno()).st_size - limit))
            text = f.read(limit).decode("utf-8", "replace")
    except OSError as error:
        return f"({path}: {error.strerror})"
    return "\n".join(text.splitlines()[-lines:])


class Supervisor:
    """``run()`` until cancelled. ``argv`` is asked for each start; ``greeting`` gives the first line of its stdin."""

    def __init__(
        self,
        name: str,
        argv: Callable[[], Sequence[str]],
        log_path: str,
        *,
        socket_path: str,
        greeting: Callable[[], Awaitable[bytes]] | None = None,
    ) -> None:
        self.name = name
        self.argv = argv
        self.log_path = log_path
        self.socket_path = socket_path
        self.greeting = greeting
        self.state: State = "starting"
        self.pid: int | None = None
        self.retry_at: float | None = None
        self.last_exit: str | None = None
        self._ready = asyncio.Event()
        self._crashes: deque[tuple[float, bool]] = deque(maxlen=32)

    @property
    def crashes(self) -> int:
        return len(self._crashes)

    async def wait_ready(self, timeout: float) -> bool:
        try:
            await asyncio.wait_for(self._ready.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        return True

    async def run(self) -> None:
        keeper = asyncio.ensure_future(self._keep_log_short())
        try:
            while True:
                started = time.monotonic()
                try:
                    served = await self._run_once()
                except asyncio.CancelledError:
                    raise
                except Exception as error:
                    served = False
                    self.last_exit = f"could not be started: {error}"
                    log.warning("raydebug: the %s could not be started", self.name, exc_info=True)
                now = time.monotonic()
                if served and now - started >= STEADY_S:
                    self._crashes.clear()
                self._crashes.append((now, served))
                delay, hopeless = restart_delay(self._crashes, now)
                self.state = "failing" if hopeless else "starting"
                self.retry_at = time.time() + delay
                log.warning(
                    "raydebug: the %s ended (%s), next start in %g s, see %s",
                    self.name, self.last_exit, delay, self.log_path,
                )  # fmt: skip
                await asyncio.sleep(delay)
        finally:
            keeper.cancel()

    async def _run_once(self) -> bool:
        """One life of the child; whether it got as far as serving."""
        greeting = await self.greeting() if self.greeting else b""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket_path)
        trim_log(self.log_path, LOG_BYTES // 4)
        with open(self.log_path, "ab", buffering=0) as errors:  # noqa: ASYNC230 - local, and only at a start
            child = await asyncio.create_subprocess_exec(
                *self.argv(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=child_env(),
                cwd="/",
                start_new_session=True,
            )
        self.pid = child.pid
        watch = asyncio.ensure_future(self._watch_stdout(child))
        try:
            assert child.stdin is not None
            with contextlib.suppress(ConnectionError):
                child.stdin.write(greeting)
                await child.stdin.drain()
            code = await child.wait()
            self.last_exit = f"signal {-code}" if code < 0 else f"exit status {code}"
            return self._ready.is_set()
        finally:
            self._ready.clear()
            self.pid = None
            watch.cancel()
            if child.returncode is None:
                await self._stop(child)

    async def _watch_stdout(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdout is not None
        try:
            line = await asyncio.wait_for(child.stdout.readline(), READY_TIMEOUT_S)
        except (asyncio.TimeoutError, ValueError):
            log.warning("raydebug: the %s did not get ready in %g s, ending it", self.name, READY_TIMEOUT_S)
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            return
        if line.strip() == b"ready":
            self.state = "ready"
            self.retry_at = None
            self._ready.set()
        while await child.stdout.read(65536):
            pass

    async def _stop(self, child: asyncio.subprocess.Process) -> None:
        """Our own end: the child's stdin closes; what doesn't heed that is killed."""
        assert child.stdin is not None
        child.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(child.wait()), 2)
        except (asyncio.TimeoutError, asyncio.CancelledError):
            with contextlib.suppress(ProcessLookupError):
                child.kill()

    async def _keep_log_short(self) -> None:
        while True:
            await asyncio.sleep(LOG_CHECK_S)
            await asyncio.get_running_loop().run_in_executor(None, trim_log, self.log_path)
