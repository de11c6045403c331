"""Reads real frozen processes from outside, and garbage."""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydebug.helper.postmortem import FrozenException, PostmortemError, read_exception
from raydebug.helper.postmortem.layout import own_image
from raydebug.helper.postmortem.memory import MAX_READS, Memory, ProcessMemory
from raydebug.helper.postmortem.read import (
    MAX_MESSAGE,
    Frame,
    calibrated,
    line_of,
    read_from,
    user_frame,
)

CHILD = Path(__file__).with_name("frozen_child.py")
BACKEND = Path(__file__).parents[3] / "backend"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")


@functools.cache
def interpreter(version: str) -> str:
    """A Python of that version that has msgspec, or ``why: ...``."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    found = shutil.which(f"python{version}")
    if not found:
        return f"why: no python{version} on PATH"
    probe = "import sys, msgspec; print(sys.version_info[:2] == tuple(map(int, sys.argv[1].split('.'))))"
    result = subprocess.run([found, "-c", probe, version], capture_output=True, text=True)
    if result.stdout.strip() != "True":
        return f"why: {found}: {(result.stderr.strip().splitlines() or ['another version'])[0]}"
    return found


@contextmanager
def frozen(python: str, **env: str) -> Iterator[tuple[int, dict[str, dict[str, Any]]]]:
    """(pid, case -> what the child says of itself) of a child with a frozen thread for each case."""
    with subprocess.Popen(
        [python, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env}
    ) as child:
        assert child.stdout is not None
        try:
            cases: dict[str, dict[str, Any]] = {}
            expected = int(child.stdout.readline())
            while len(cases) < expected:
                truth = json.loads(child.stdout.readline())
                cases[truth.pop("case")] = truth
            yield child.pid, cases
        finally:
            child.kill()


def read_outside(python: str, pid: int, thread_id: int) -> FrozenException:
    command = [python, "-m", "raydebug.helper.postmortem", str(pid), str(thread_id)]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(BACKEND)})
    assert result.returncode == 0, result.stdout + result.stderr
    return msgspec.json.decode(result.stdout, type=FrozenException)


def check(seen: FrozenException, truth: dict[str, Any]) -> None:
    message = truth["message"]
    assert seen.type_name == truth["type_name"]
    assert seen.message == (message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…")
    frames = [Frame(**frame) for frame in truth["frames"]]
    if seen.omitted_frames:
        assert len(frames) == 200 + seen.omitted_frames
        frames = frames[:100] + frames[-100:]
    assert seen.frames == frames
    assert seen.user_frame == [f for f in frames if f.file == str(CHILD)][-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_reads_what_a_frozen_process_says_of_itself(version: str) -> None:
    python = interpreter(version)
    if python.startswith("why: "):
        pytest.skip(python[5:])
    with frozen(python) as (pid, cases):
        idle = cases.pop("idle")
        for case, truth in cases.items():
            # In the same Python as the tests' the calls go to the library, which is faster than a process each.
            in_process = python == sys.executable and case not in ("main", "surrogate")
            read = read_exception if in_process else functools.partial(read_outside, python)
            check(read(pid, truth["thread_id"]), truth)
        assert cases["deep"]["frames"][100:-100], "the cap was not reached"
        command = [python, "-m", "raydebug.helper.postmortem", str(pid)]
        for thread_id, reason in ((idle["thread_id"], "not handling an exception"), (12345, "no Python thread")):
            result = subprocess.run(
                [*command, str(thread_id)], capture_output=True, text=True, env={"PYTHONPATH": str(BACKEND)}
            )
            assert result.returncode == 1
            assert reason in json.loads(result.stdout)["error"]


def test_a_copy_of_the_same_python_is_read(tmp_path: Path) -> None:
    source = Path(own_image().path)
    copy = Path(shutil.copy2(source, tmp_path))
    if ".so" in source.name:
        python, env = sys.executable, {"LD_PRELOAD": str(copy)}
    else:
        python, env = str(copy), {"PYTHONHOME": sys.base_prefix}
    with frozen(python, **env) as (pid, cases):
        assert str(copy) in Path(f"/proc/{pid}/maps").read_text()
        check(read_exception(pid, cases["cause"]["thread_id"]), cases["cause"])


def test_another_python_is_refused() -> None:
    others = [interpreter(v) for v in VERSIONS]
    others = [p for p in others if p != sys.executable and not p.startswith("why: ")]
    if not others:
        pytest.skip("no other Python on PATH")
    with frozen(others[0]) as (pid, cases), pytest.raises(PostmortemError, match="not run the same Python build"):
        read_exception(pid, cases["plain"]["thread_id"])


def test_no_python_no_process_no_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        with pytest.raises(PostmortemError, match="not run the same Python build"):
            read_exception(sleeper.pid, 1)
        sleeper.kill()
    with pytest.raises(PostmortemError, match="does not exist any more"):
        read_exception(sleeper.pid, 1)

    def refuse(*args: object) -> int:
        raise PermissionError(13, "Permission denied")

    calibrated()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PostmortemError, match="CAP_SYS_PTRACE"):
        read_exception(os.getpid(), 1)


def test_reading_changes_nothing_and_stops_nobody() -> None:
    with frozen(sys.executable) as (pid, cases):

        def switches() -> dict[str, str]:
            return {
                task.name: next(line for line in (task / "status").read_text().splitlines() if "voluntary" in line)
                for task in Path(f"/proc/{pid}/task").iterdir()
            }

        before = switches()
        check(read_exception(pid, cases["plain"]["thread_id"]), cases["plain"])
        assert switches() == before
        assert "TracerPid:\t0" in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 keeps the line in the traceback")
def test_lines_are_those_of_the_interpreter() -> None:
    codes = [
        f.__code__ for module in (json.decoder, subprocess, random) for f in vars(module).values() if _is_function(f)
    ]
    codes += [code for module in (Path, subprocess.Popen, random.Random) for code in _codes(module)]
    checked = 0
    for code in codes:
        if sys.version_info >= (3, 11):
            for index, (line, *_) in enumerate(code.co_positions()):
                if line is not None:
                    assert line_of(code.co_linetable, code.co_firstlineno, 2 * index) == line
                    checked += 1
    assert checked > 1000


def _is_function(value: object) -> bool:
    return type(value).__name__ == "function"


def _codes(cls: type) -> Iterator[Any]:
    return (f.__code__ for f in vars(cls).values() if _is_function(f))


@given(st.binary(max_size=300), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_any_line_table_ends(table: bytes, first: int, lasti: int) -> None:
    line_of(table, first, lasti)


def test_the_user_frame() -> None:
    lib = os.path.dirname(os.__file__)
    user, torch = Frame("train", "/job/train.py", 3), Frame("mm", f"{lib}/site-packages/torch/x.py", 4)
    ray, pyx = Frame("span", f"{lib}/site-packages/ray/x.py", 1), Frame("execute", "python/ray/_raylet.pyx", 2)
    stdlib = Frame("loads", f"{lib}/json/__init__.py", 9)
    assert user_frame([pyx, ray, user, torch, stdlib]) == user
    assert user_frame([pyx, ray, torch]) == torch
    assert user_frame([pyx, ray]) == ray
    assert user_frame([]) is None


class Counting:
    """A memory, and how often it was read."""

    def __init__(self) -> None:
        self.reads = 0

    def data(self, address: int, size: int) -> bytes:
        raise NotImplementedError

    def __call__(self, address: int, size: int) -> bytes:
        self.reads += 1
        return self.data(address, size)


class Garbage(Counting):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)

    def data(self, address: int, size: int) -> bytes:
        choice = self.random.random()
        if choice < 0.02:
            raise OSError(5, "Input/output error")
        return self.random.randbytes(size if choice > 0.05 else self.random.randrange(size + 1))


class Arena(Counting):
    """Memory full of pointers into itself: everything leads somewhere, and round in circles."""

    def __init__(self, seed: int, words: int) -> None:
        super().__init__()
        self.random, self.words = random.Random(seed), words

    def data(self, address: int, size: int) -> bytes:
        chosen = random.Random(address)  # the same place always holds the same
        pointers = [0x10000 + 8 * chosen.randrange(self.words) for _ in range(size // 8 + 1)]
        return b"".join((p | chosen.choice((0, 1 << 31 | 1 << 30))).to_bytes(8, "little") for p in pointers)[:size]


class Corrupted(Counting):
    """This process's own memory, with some of what is read changed."""

    def __init__(self, seed: int, rate: float, real: ProcessMemory) -> None:
        super().__init__()
        self.random, self.rate, self.real = random.Random(seed), rate, real

    def data(self, address: int, size: int) -> bytes:
        data = bytearray(self.real(address, size))
        if data and self.random.random() < self.rate:
            for _ in range(self.random.randrange(1, 4)):
                data[self.random.randrange(len(data))] = self.random.choice((0, 1, 8, 0x7F, 0xFF))
        return bytes(data)


def attempt(reader: Counting, base: int, thread_id: int) -> FrozenException | None:
    try:
        result = read_from(Memory(reader), calibrated()[1], base, thread_id)
    except PostmortemError:
        return None
    else:
        assert len(result.frames) <= 200
        assert len(result.message) <= MAX_MESSAGE
        msgspec.json.encode(result)
        return result
    finally:
        assert reader.reads <= MAX_READS


@given(st.integers(), st.integers(0, 2**64), st.integers(0, 2**64))
def test_garbage_is_refused(seed: int, base: int, thread_id: int) -> None:
    attempt(Garbage(seed), base, thread_id)


@given(st.integers(), st.integers(1, 5000), st.integers(0, 5000))
@settings(deadline=None)
def test_pointers_in_circles_end(seed: int, words: int, thread: int) -> None:
    attempt(Arena(seed, words), 0x10000, 0x10000 + 8 * thread)


@pytest.fixture(scope="module")
def frozen_thread() -> Iterator[int]:
    ready, done = threading.Event(), threading.Event()

    def inner(n: int) -> None:
        if n:
            inner(n - 1)
        raise KeyError("é", 1, 2.5, None, ("漢", b"x"))

    def body() -> None:
        try:
            inner(30)
        except KeyError:
            ready.set()
            done.wait()

    thread = threading.Thread(target=body)
    thread.start()
    ready.wait()
    yield thread.ident or 0
    done.set()
    thread.join()


@given(st.integers(), st.sampled_from((0.0, 0.001, 0.01, 0.1)))
@settings(deadline=None, max_examples=300)
def test_corrupted_memory_is_refused_or_read(frozen_thread: int, seed: int, rate: float) -> None:
    image, _ = calibrated()
    with ProcessMemory(os.getpid()) as real:
        result = attempt(Corrupted(seed, rate, real), image.base, frozen_thread)
    if rate == 0:
        assert result is not None
        assert result.message == "('é', 1, 2.5, None, ('漢', b'x'))"
