"""Real Ray clusters for tests: each on free ports, in a session directory of its own, stopped by its own processes.

Never ``ray stop``: it ends every Ray process of the machine, other tests' clusters too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(what: str, probe: Callable[[], T | None], timeout: float = 60, period: float = 0.05) -> T:
    """Call ``probe`` until it returns something true; what it raised last is shown after ``timeout`` s."""
    deadline = time.monotonic() + timeout
    problem: BaseException | None = None
    while True:
        try:
            if value := probe():
                return value
            problem = None
        except (OSError, AssertionError, LookupError, ValueError, urllib.error.URLError) as error:
            problem = error
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:.0f} s for {what}") from problem
        time.sleep(period)


class RayCluster:
    """A head started with ``ray start --head`` as a user would, and nodes that join it.

    ``python``: the interpreter whose Ray is used (its ``ray`` script lies beside it).
    """

    def __init__(
        self,
        *,
        num_cpus: int = 4,
        env: Mapping[str, str] | None = None,
        python: str = sys.executable,
        head_args: tuple[str, ...] = (),
        ip: str = "127.0.0.1",
        push: bool = False,
    ) -> None:
        """``push``: started by ``raydebug start`` in the place of ``ray start``."""
        self.push = push
        self.python = python
        self.ray = str(Path(python).parent / "ray")
        # A busy machine starts slowly: Ray's own limit of 30 s for a raylet isn't what is tested here.
        patience = {"RAY_raylet_start_wait_time_s": "180"}
        # A token that any ray.init() has left in the home would put each cluster into token mode.
        open_mode = {"RAY_AUTH_MODE": "disabled"}
        self.env = {**open_mode, **os.environ, "RAY_USAGE_STATS_ENABLED": "0", **patience, **(env or {})}
        self.env.pop("RAY_ADDRESS", None)
        # Socket paths are limited to 107 bytes: keep the directory short.
        self.temp_dir = Path(tempfile.mkdtemp(prefix="rd-", dir="/tmp"))
        self.gcs_port, self.dashboard_port = free_port(), free_port()
        self.num_cpus = num_cpus
        self.ip = ip
        self.head_args = head_args
        self._procs: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"{self.ip}:{self.gcs_port}"

    @property
    def url(self) -> str:
        return f"http://{self.ip}:{self.dashboard_port}"

    @property
    def session_dir(self) -> Path:
        return (self.temp_dir / "session_latest").resolve()

    @property
    def log_dir(self) -> Path:
        return self.session_dir / "logs"

    def start(self) -> RayCluster:
        self._spawn(
            "--head",
            f"--port={self.gcs_port}",
            f"--node-ip-address={self.ip}",
            f"--dashboard-host={self.ip}",
            f"--dashboard-port={self.dashboard_port}",
            f"--dashboard-agent-listen-port={free_port()}",
            f"--ray-client-server-port={free_port()}",
            f"--temp-dir={self.temp_dir}",
            "--object-store-memory=100000000",
            *self.head_args,
        )
        # The dashboard answers long before the raylet is there on a busy machine.
        self._wait_started(self._procs[0])
        wait_for("Ray's dashboard", lambda: self._dashboard_up() or None, timeout=120, period=0.2)
        return self

    def add_node(self, *args: str, num_cpus: int = 2, prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """Start one more node on this machine; returns the process whose end takes the node down.

        It has joined then: nodes that start at the same moment on one machine take each other's ports. ``prefix``: a
        command that runs the rest of its arguments in its own place (``ip netns exec NAME``).
        """
        node = self._spawn(
            f"--address={self.address}",
            f"--dashboard-agent-listen-port={free_port()}",
            "--object-store-memory=100000000",
            *args,
            num_cpus=num_cpus,
            prefix=prefix,
        )
        self._wait_started(node)
        return node

    def _wait_started(self, node: subprocess.Popen[bytes]) -> None:
        log = self.temp_dir / f"start-{self._procs.index(node)}.log"

        def started() -> bool:
            if node.poll() is not None:
                raise RuntimeError(log.read_text())
            return "Ray runtime started" in log.read_text()

        wait_for("`ray start` to be done", started, timeout=180, period=0.1)

    def _spawn(self, *args: str, num_cpus: int | None = None, prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        log = (self.temp_dir / f"start-{len(self._procs)}.log").open("wb")
        proc = subprocess.Popen(
            [
                *prefix,
                *(
                    (self.python, "-m", "raydebug.cli", "start")
                    if (self.push and "--head" in args)
                    else (self.ray, "start")
                ),
                *args,
                *(f"--num-cpus={num_cpus or self.num_cpus}", "--block", "--disable-usage-stats"),
            ],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        log.close()
        self._procs.append(proc)
        return proc

    def _dashboard_up(self) -> bool:
        if self._procs[0].poll() is not None:
            raise RuntimeError((self.temp_dir / "start-0.log").read_text())
        try:
            with urllib.request.urlopen(f"{self.url}/api/version", timeout=5):
                return True
        except urllib.error.HTTPError as error:
            return error.code == 401  # token mode

    def run_script(self, *argv: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a driver in the background with this cluster as its address."""
        return subprocess.Popen(
            [self.python, *argv],
            env={**self.env, "RAY_ADDRESS": self.address, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[psutil.Process]:
        """All processes that carry this cluster's directory or ports in their command line, or descend from one."""
        own = {}
        for proc in psutil.process_iter():
            try:
                line = " ".join(proc.cmdline())
                if str(self.temp_dir) in line or self.address in line:
                    for p in (proc, *proc.children(recursive=True)):
                        own[p.pid] = p
            except psutil.Error:
                continue
        own.pop(os.getpid(), None)
        return list(own.values())

    def stop_gently(self) -> None:
        """End the head as a user who presses Ctrl-C does, and nothing else."""
        self._procs[0].send_signal(signal.SIGTERM)
        self._procs[0].wait(90)

    def stop(self) -> None:
        """End all of it at once: asked politely, Ray drains its nodes for up to 30 s."""
        while left := self.processes():
            for process in left:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(left, timeout=5)
        for proc in self._procs:
            proc.wait()
        shutil.rmtree(self.temp_dir, ignore_errors=True)

    @property
    def debugger(self) -> dict[str, str]:
        """Headers of somebody who may see and do everything."""
        return {"X-Raydebug-Token": (self.session_dir / "raydebug" / "token").read_text().strip()}

    def __enter__(self) -> RayCluster:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *exc: object) -> None:
        self.stop()
