"""Joining the running Ray cluster, or starting a head where there is none."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import ray

DEFAULT_PORT: Final = 6379
CONNECT_TIMEOUT: Final = 5.0
PROBE_TIMEOUT: Final = 30.0
START_TIMEOUT: Final = 120.0
STOP_TIMEOUT: Final = 20.0
"""Seconds."""
OWN_ONE: Final = "`--address local` (`npm run demo -- --address local`) starts one of the demo's own"
NOBODY_THERE: Final = 3
"""How the probe ends where no process of Ray's is to be found, or nobody listens at its address."""

_PROBE: Final = f"""
import ray
try:
    ray.init("auto", log_to_driver=False)
except ConnectionError:
    raise SystemExit({NOBODY_THERE})
assert any(node["Alive"] for node in ray.nodes()), "none of its nodes is alive"
print(ray.get_runtime_context().gcs_address)
"""


class NoClusterError(Exception):
    """No cluster could be reached or started; the message says which and why."""


@contextmanager
def joined(address: str | None, say: Callable[[str], None]) -> Iterator[str]:
    """Be a driver of the cluster at ``address`` (``host:port`` of its GCS), by default the running one.

    Gives the URL of its dashboard, or an empty text where it has none.

    Without ``address``, RAY_ADDRESS and a running cluster, a head is started, and stopped on the way out. ``local``
    starts one in any case. One that was found but can't be joined, because it is being taken down, say, is told and
    left alone; one that was named is an error. ``say`` tells the user what takes time.
    """
    wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
    if wanted not in ("auto", "local"):
        named = "--address" if address else "RAY_ADDRESS"
        say(f"joining the cluster at {wanted}, as {named} says; {OWN_ONE}")
        _check_reachable(wanted)
        yield from _connected(_connect(wanted))
        return
    url = _join_running(say) if wanted == "auto" else None
    if url is not None:
        yield from _connected(url)
        return
    say("starting a Ray head; it ends with this command")
    with _head() as started:
        yield from _connected(_connect(started))


def _join_running(say: Callable[[str], None]) -> str | None:
    """Join the cluster that Ray would join by itself; None if there is none that can be joined, which is told."""
    try:
        running = _running()
        if running is None:
            say("no running Ray cluster")
            return None
        say(f"joining the running cluster at {running}, which Ray finds by itself; {OWN_ONE}")
        _check_reachable(running)
        return _connect(running)
    except NoClusterError as error:
        say(f"{error}\nit is left alone")
        ray.shutdown()
        return None


def _found() -> str:
    """The cluster that Ray finds by itself, in words: mostly the last one that was started here, by Ray's file."""
    temp = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    try:
        address = (Path(temp) / "ray" / "ray_current_cluster").read_text().strip()
    except OSError:
        return "the running Ray cluster"
    return f"the Ray cluster at {address}"


def _running() -> str | None:
    """The address of the cluster that Ray would join by itself, None if there is none. Raises NoClusterError if there
    is one that doesn't let us in.

    Tried in a process of its own, with a limit: where a cluster has died Ray tries its last address for minutes, and
    one that is being taken down may take its drivers with it. What it runs shows that it has a node left.
    """
    try:
        said = subprocess.run(
            [sys.executable, "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise NoClusterError(f"{_found()} gives no answer in {PROBE_TIMEOUT:g} s") from None
    if said.returncode == 0 and said.stdout.strip():
        return said.stdout.split()[-1]
    why = said.stderr.strip().rpartition("\n")[2][:300]
    if said.returncode == NOBODY_THERE:
        return None
    raise NoClusterError(f"{_found()} can't be joined: {why}")


def _connected(url: str) -> Iterator[str]:
    try:
        yield url
    finally:
        ray.shutdown()


def _connect(address: str) -> str:
    """ray.init; the dashboard's URL."""
    try:
        context = ray.init(address=address, log_to_driver=False, logging_level="warning")
    except Exception as error:  # such as another version of Ray or Python, or a node that has just gone
        raise NoClusterError(f"can't join the Ray cluster at {address}: {error}") from error
    # Ray's own SIGTERM handler exits at once; raised as Ctrl-C is, the command ends in good order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return f"http://{context.dashboard_url}" if context.dashboard_url else ""


def _check_reachable(address: str) -> None:
    """Ray itself takes a minute to give up on an address where nobody listens."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT).close()
    except (OSError, ValueError) as error:
        raise NoClusterError(f"no Ray cluster at {address!r} (expected HOST:PORT of its GCS): {error}") from error


@contextmanager
def _head() -> Iterator[str]:
    """A head node with its dashboard, as a child process; gives the address of its GCS."""
    port = _free_port(DEFAULT_PORT)
    # `--block` keeps all of Ray below this one process, whose end takes it down; `ray stop` would end other clusters.
    argv = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    # Beside another cluster Ray chooses another port by itself for its dashboard alone.
    argv += [f"--ray-client-server-port={_free_port(10001)}", f"--dashboard-agent-listen-port={_free_port(52365)}"]
    with tempfile.NamedTemporaryFile(prefix="raydebug-demo-", suffix=".log") as log:
        # A session of its own: Ctrl-C in the terminal reaches the demo alone, which then stops the head in order.
        process = subprocess.Popen(
            [*argv, f"--port={port}"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_started(process, log)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_started(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while b"Ray runtime started." not in (said := Path(log.name).read_bytes()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise NoClusterError(f"`ray start --head` failed:\n{said.decode(errors='replace').strip()}")
        time.sleep(0.1)


def _free_port(preferred: int) -> int:
    for port in (preferred, 0):
        with socket.socket() as s:
            try:
                s.bind(("", port))
            except OSError:
                continue
            return int(s.getsockname()[1])
    raise NoClusterError("this machine has no free port")
