"""Output that can't be written: a clean end of every command, in a process of its own as a shell starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

from raydebug.api.topology import Topology

from .samples import NOW
from .server import FakeDashboard

COMMANDS = [
    (["--help"], True),
    (["ps", "--help"], True),
    (["ps"], True),
    (["ps"], False),
    (["ps", "--json"], True),
    (["url", "--token", "t"], True),
]
"""Words of click's, of rich's, and bytes; and whether they wait in a buffer."""


@pytest.fixture
def fake(fake: FakeDashboard) -> FakeDashboard:
    return fake.hub(topology=Topology(time_ns=NOW, nodes=[], jobs=[], sources=[]))


def run(
    fake: FakeDashboard, arguments: list[str], stdout: int, buffered: bool = True, prefix: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "RAYDEBUG_ADDRESS": fake.url}
    env.pop("PYTHONUNBUFFERED", None)
    if not buffered:
        env["PYTHONUNBUFFERED"] = "1"
    command = [*prefix, sys.executable, "-m", "raydebug.cli", *arguments]
    return subprocess.run(command, env=env, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)


@pytest.fixture
def full() -> Iterator[int]:
    with open("/dev/full", "wb") as file:
        yield file.fileno()


@pytest.fixture
def closed_pipe() -> Iterator[int]:
    """Its reader is gone before anything is written."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize(("arguments", "buffered"), COMMANDS)
def test_a_full_disk_is_one_line(fake: FakeDashboard, full: int, arguments: list[str], buffered: bool) -> None:
    done = run(fake, arguments, full, buffered)
    assert done.stderr == "Error: the output can't be written: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize(("arguments", "buffered"), COMMANDS)
def test_a_closed_pipe_is_silent(fake: FakeDashboard, closed_pipe: int, arguments: list[str], buffered: bool) -> None:
    done = run(fake, arguments, closed_pipe, buffered)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_standard_output_is_no_failure(fake: FakeDashboard) -> None:
    done = run(fake, ["ps"], subprocess.DEVNULL, prefix=["bash", "-c", '"$@" >&-', "-"])
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_of_the_command_keeps_its_code(fake: FakeDashboard, full: int) -> None:
    done = run(fake, ["ps", "--address", "http://127.0.0.1:1"], full)
    assert done.returncode == 3
    assert "No Ray Dashboard answers" in done.stderr
