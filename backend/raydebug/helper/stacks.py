"""Stacks of processes of this node, by py-spy: nothing runs in the process that is looked at.

``--nonblocking``: the process isn't stopped. A dump of one that runs can fail half-way then, and is tried again; what
waits at a breakpoint doesn't move.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sys
from collections.abc import Awaitable, Callable

import msgspec

from raydebug.api.helper import Dump, Frame, Stacks, Thread

log = logging.getLogger("raydebug.helper")

AT_ONCE = 2
TIMEOUT_S = 10.0
TRIES = 3
OUTPUT_BYTES = 4 << 20
CAP_SYS_PTRACE = 19

PTRACE_FIX = (
    "Let it read other processes of its user: `sysctl kernel.yama.ptrace_scope=0` on the host, or in Kubernetes "
    'securityContext.capabilities.add: ["SYS_PTRACE"] for the Ray containers.'
)
PYSPY_FIX = "py-spy isn't found beside Ray's Python nor on PATH of this node: `pip install py-spy`."


class _Local(msgspec.Struct):
    name: str
    repr: str | None = None


class _Frame(msgspec.Struct):
    name: str
    filename: str
    line: int
    locals: list[_Local] | None = None


class _Thread(msgspec.Struct):
    frames: list[_Frame]
    active: bool = False
    thread_name: str | None = None
    thread_id: int | None = None
    os_thread_id: int | None = None


_decoder = msgspec.json.Decoder(list[_Thread])


def parse_dump(output: bytes, with_locals: bool) -> list[Thread]:
    """py-spy's JSON in our words; raises :class:`msgspec.MsgspecError` where it isn't whole."""
    return [
        Thread(
            thread_id=t.os_thread_id,
            ident=t.thread_id,
            name=t.thread_name,
            active=t.active,
            frames=[
                Frame(
                    function=f.name,
                    file=f.filename,
                    line=f.line,
                    locals={v.name: v.repr or "?" for v in f.locals or ()} if with_locals else None,
                )
                for f in t.frames
            ],
        )
        for t in _decoder.decode(output)
    ]


def explain(stderr: str) -> str:
    """py-spy's complaint without its Rust backtrace, and what to do about it."""
    text = stderr.partition("Stack backtrace")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip() != "Caused by:"]
    said = " ".join(lines)[:400] or "py-spy gave no reason"
    if any(word in said.lower() for word in ("permission denied", "operation not permitted", "eperm")):
        return f"No right to read this process ({said}). {PTRACE_FIX}"
    return f"py-spy failed: {said}"


def find_pyspy() -> str | None:
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    return beside if os.access(beside, os.X_OK) else shutil.which("py-spy")


def ptrace_problem(scope: str | None, capabilities: int, pyspy: str | None) -> str | None:
    """Why stacks can't be read on this node, None where they should be. ``scope``: Yama's, None without Yama."""
    if pyspy is None:
        return PYSPY_FIX
    if capabilities >> CAP_SYS_PTRACE & 1 and scope != "3":
        return None
    if scope in (None, "0"):
        return None
    return f"kernel.yama.ptrace_scope is {scope} and this process lacks CAP_SYS_PTRACE. {PTRACE_FIX}"


def probe_ptrace() -> str | None:
    scope = None
    with contextlib.suppress(OSError), open("/proc/sys/kernel/yama/ptrace_scope") as f:
        scope = f.read().strip()
    capabilities = 0
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status") as f:
        capabilities = next(int(line.split()[1], 16) for line in f if line.startswith("CapEff:"))
    return ptrace_problem(scope, capabilities, find_pyspy())


class Dumper:
    """``may_dump``: whether a pid is one that the hub may ask about."""

    def __init__(self, may_dump: Callable[[int], bool]) -> None:
        self._may_dump = may_dump
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def dump(self, ask: Dump, deliver: Callable[[Stacks], Awaitable[None]]) -> None:
        """Its slot is held until the answer has been taken: a hub that doesn't read leaves no heap of stacks here."""
        async with self._slots:
            try:
                threads, error = await self._dump(ask.pid, ask.locals)
            except Exception as problem:
                log.exception("a dump failed")
                threads, error = [], f"The helper failed: {problem}. See its log."
            await deliver(Stacks(id=ask.id, pid=ask.pid, threads=threads, error=error))

    async def _dump(self, pid: int, with_locals: bool) -> tuple[list[Thread], str | None]:
        if not self._may_dump(pid):
            return [], f"Process {pid} has ended, or isn't one of those watched on this node."
        pyspy = find_pyspy()
        if pyspy is None:
            return [], PYSPY_FIX
        argv = [pyspy, "dump", "--pid", str(pid), "--json", "--nonblocking", *(["--locals"] if with_locals else [])]
        error = ""
        for _ in range(TRIES):
            code, output, complaint = await run_capped(argv, TIMEOUT_S, OUTPUT_BYTES)
            if code is None:
                return [], complaint
            if code == 0:
                try:
                    return parse_dump(output, with_locals), None
                except msgspec.MsgspecError as problem:
                    error = f"py-spy's answer could not be read: {problem}"
                    continue
            error = explain(complaint)
            if not self._may_dump(pid) or error.startswith("No right"):
                break
        return [], error


async def run_capped(argv: list[str], timeout: float, limit: int) -> tuple[int | None, bytes, str]:
    """Exit status, stdout and stderr; no status and the reason where it was too slow or said too much."""
    try:
        child = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        return None, b"", f"{argv[0]} could not be started: {error}"
    assert child.stdout is not None
    assert child.stderr is not None
    too_much = False

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            child.kill()

    def stop() -> None:
        nonlocal too_much
        too_much = True
        kill()

    try:
        output, complaint, code = await asyncio.wait_for(
            asyncio.gather(
                _read_capped(child.stdout, limit, stop), _read_capped(child.stderr, 65536, stop), child.wait()
            ),
            timeout,
        )
    except asyncio.TimeoutError:
        return None, b"", f"{os.path.basename(argv[0])} took over {timeout:g} s. The node may be overloaded; try again."
    finally:
        if child.returncode is None:
            kill()
            # asyncio calls a process over when its pipes are, and a full pipe that nobody reads never is.
            ignore = _read_capped(child.stdout, 0, kill), _read_capped(child.stderr, 0, kill)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(*ignore, child.wait()), 5)
    if too_much:
        return None, b"", f"The answer is over {limit / (1 << 20):g} MB."
    return code, output, complaint.decode("utf-8", "replace")


async def _read_capped(stream: asyncio.StreamReader, limit: int, on_more: Callable[[], None]) -> bytes:
    """All of it, read to its end; what is over ``limit`` is dropped after ``on_more()``."""
    parts: list[bytes] = []
    size = 0
    while chunk := await stream.read(65536):
        size += len(chunk)
        if size > limit:
            on_more()
            parts.clear()
        else:
            parts.append(chunk)
    return b"".join(parts)
