"""Reads what crashed Ray tasks and actors wait for a debugger with, on a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from raydebug.helper.postmortem import FrozenException, PostmortemError, read_exception
from tests.support.cluster import RayCluster, wait_for

BACKEND = Path(__file__).parents[2] / "backend"

JOB = """
import asyncio, json, time
import ray

ray.init(runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})

class MyError(Exception):
    pass

def deep(n):
    if n:
        return deep(n - 1)
    raise MyError("deep ☠ " + "x" * 1_000_000)

@ray.remote(num_cpus=0)
class Sync:
    def boom(self):
        try:
            {}["a"]
        except KeyError as error:
            new = MyError("sync é 漢 😀")
            if hasattr(new, "add_note"):
                new.add_note("a note")
            raise new from error  # sync

@ray.remote(num_cpus=0)
class Async:
    async def boom(self):
        await asyncio.sleep(0.01)
        await self.inner()

    async def inner(self):
        raise MyError("async")  # async

@ray.remote(num_cpus=0, max_concurrency=4)
class Threaded:
    def boom(self, n):
        raise ValueError("thread", n)  # threaded

@ray.remote(num_cpus=0)
def task():
    deep(900)

@ray.remote(num_cpus=0)
def in_c():
    return json.loads("[1, }")  # in_c

actors = [Sync.remote(), Async.remote(), Threaded.remote()]
refs = [actors[0].boom.remote(), actors[1].boom.remote(), actors[2].boom.remote(1), actors[2].boom.remote(2)]
refs += [task.remote(), in_c.remote()]
time.sleep(600)
"""

# Process title -> (type, message, function and line of the user's innermost frame, threads).
EXPECTED = {
    "ray::Sync.boom": ("MyError", "sync é 漢 😀", "Sync.boom", "# sync", 1),
    "ray::Async.boom": ("MyError", "async", "Async.inner", "# async", 1),
    "ray::Threaded.boom": ("ValueError", "('thread', N)", "Threaded.boom", "# threaded", 2),
    "ray::task": ("MyError", "deep ☠ " + "x" * 492 + "…", "deep", 'raise MyError("deep', 1),
    "ray::in_c": ("json.decoder.JSONDecodeError", "Expecting value: line 1 column 5 (char 4)", "in_c", "# in_c", 1),
}


def frozen_threads(pid: int) -> list[dict[str, Any]]:
    """The threads of a worker that are in Ray's post-mortem, as py-spy shows them."""
    py_spy = Path(sys.executable).with_name("py-spy")
    dump = subprocess.run([py_spy, "dump", "--json", "--pid", str(pid)], capture_output=True, text=True)
    threads = json.loads(dump.stdout) if dump.returncode == 0 else []
    return [
        thread
        for thread in threads
        if {"_post_mortem", "block_until_configuration_done"}
        <= {frame["name"].rpartition(".")[2] for frame in thread["frames"]}
    ]


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, tuple[int, list[int]]]]]:
    """The job's file, and process title -> (pid, idents of the frozen threads)."""
    job = tmp_path_factory.mktemp("job") / "job.py"
    job.write_text(JOB)
    with RayCluster() as cluster:
        driver = cluster.run_script(str(job))
        found: dict[str, tuple[int, list[int]]] = {}

        def look() -> bool:
            for proc in cluster.processes():
                try:
                    title = proc.cmdline()[0]
                except (psutil.Error, IndexError):
                    continue
                if title in EXPECTED and title not in found:
                    threads = frozen_threads(proc.pid)
                    if len(threads) == EXPECTED[title][4]:
                        found[title] = (proc.pid, [thread["thread_id"] for thread in threads])
            assert driver.poll() is None, driver.communicate()[0]
            assert found.keys() == EXPECTED.keys(), f"only {sorted(found)} froze"
            return True

        try:
            wait_for("all tasks to freeze", look, timeout=180, period=0.5)
            yield job, found
        finally:
            driver.kill()
            driver.communicate()


@pytest.mark.parametrize("title", EXPECTED)
def test_reads_the_frozen_exception(title: str, crashed: tuple[Path, dict[str, tuple[int, list[int]]]]) -> None:
    job, found = crashed
    pid, idents = found[title]
    type_name, message, function, marker, _ = EXPECTED[title]
    line = next(n for n, text in enumerate(JOB.splitlines(), 1) if marker in text)
    messages = set()
    for ident in idents:
        seen = read_exception(pid, ident)
        assert seen.type_name == type_name
        assert seen.user_frame is not None
        qualified = function if sys.version_info >= (3, 11) else function.rpartition(".")[2]
        assert (seen.user_frame.function, seen.user_frame.file, seen.user_frame.line) == (qualified, str(job), line)
        assert seen.frames[0].file.endswith("_raylet.pyx")
        messages.add(seen.message)
    assert messages == ({message.replace("N", n) for n in "12"} if "N)" in message else {message})
    assert "TracerPid:\t0" in Path(f"/proc/{pid}/status").read_text()
    assert len(frozen_threads(pid)) == len(idents), "reading moved the task on"


def test_other_threads_of_the_worker_handle_nothing(crashed: tuple[Path, dict[str, tuple[int, list[int]]]]) -> None:
    pid, _ = crashed[1]["ray::Async.boom"]
    py_spy = Path(sys.executable).with_name("py-spy")
    dump = subprocess.run([py_spy, "dump", "--json", "--pid", str(pid)], capture_output=True, text=True, check=True)
    main = next(thread for thread in json.loads(dump.stdout) if thread["thread_name"] == "MainThread")
    with pytest.raises(PostmortemError, match="not handling an exception"):
        read_exception(pid, main["thread_id"])


def test_as_a_process_of_its_own(crashed: tuple[Path, dict[str, tuple[int, list[int]]]]) -> None:
    pid, (ident,) = crashed[1]["ray::Sync.boom"]
    command = [sys.executable, "-m", "raydebug.helper.postmortem", str(pid), str(ident)]
    started = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(BACKEND)})
    print(f"{1000 * (time.monotonic() - started):.0f} ms")
    assert msgspec.json.decode(result.stdout, type=FrozenException).type_name == "MyError"
