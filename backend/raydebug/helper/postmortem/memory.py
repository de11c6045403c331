"""Reading another process's memory: bounded, checked, read-only, without stopping it.

Everything read is data of a process that runs on meanwhile: a pointer may be stale by the time it is followed. So
each read is checked and counted, and one that fails raises :class:`UnreadableError`, never more than that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# User space ends at 2**47 on x86-64 and at 2**48 on arm64 (without the optional five-level page tables).
TOP = 1 << 48
MAX_READS = 200_000

Reader = Callable[[int, int], bytes]
"""(address, size) -> bytes, fewer than asked at the end of a mapping, or OSError."""


class PostmortemError(Exception):
    """The exception cannot be read. The text says why, and what to do about it."""


class UnreadableError(PostmortemError):
    """What was read makes no sense: the process changed it meanwhile, or it is no such object."""


class Memory:
    """Reads through ``reader``, at most ``max_reads`` times."""

    def __init__(self, reader: Reader, max_reads: int = MAX_READS) -> None:
        self._reader = reader
        self.reads_left = max_reads

    def read_some(self, address: int, size: int) -> bytes:
        """Up to ``size`` bytes: fewer where the mapping ends, none where nothing is mapped."""
        self.reads_left -= 1
        if self.reads_left < 0:
            raise UnreadableError("gave up: the structures in the process's memory are too long or loop")
        if not 0 < address < TOP or not 0 <= size <= 1 << 24:
            return b""
        try:
            return self._reader(address, size)[:size]
        except (OSError, OverflowError):
            return b""

    def read(self, address: int, size: int) -> bytes:
        data = self.read_some(address, size)
        if len(data) != size:
            raise UnreadableError(f"no {size} bytes of memory at {address:#x}")
        return data

    def word(self, address: int) -> int:
        return int.from_bytes(self.read(address, 8), "little")


class ProcessMemory:
    """``/proc/PID/mem``, opened for reading: needs the rights of ptrace, and attaches nothing."""

    def __init__(self, pid: int) -> None:
        try:
            self._fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise access_error(pid, error) from None

    def __call__(self, address: int, size: int) -> bytes:
        return os.pread(self._fd, size, address)

    def __enter__(self) -> ProcessMemory:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._fd)


def access_error(pid: int, error: OSError) -> PostmortemError:
    if isinstance(error, PermissionError):
        return PostmortemError(
            f"not allowed to read the memory of process {pid}. Run as the same user as the process; where the kernel "
            "restricts ptrace (kernel.yama.ptrace_scope) or in a container, as root or with CAP_SYS_PTRACE, "
            "as for py-spy"
        )
    if isinstance(error, (FileNotFoundError, ProcessLookupError)):
        return PostmortemError(f"process {pid} does not exist any more")
    return PostmortemError(f"process {pid} cannot be read: {error}")


@dataclass(frozen=True)
class Mapping:
    start: int
    end: int
    perms: str
    offset: int
    device: str
    inode: int
    path: str


def mappings(pid: int) -> list[Mapping]:
    """The file mappings of a process, see proc_pid_maps(5)."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError as error:
        raise access_error(pid, error) from None
    found = []
    for line in lines:
        span, perms, offset, device, inode, *rest = line.split(maxsplit=5)
        if inode != "0" and rest:
            start, end = (int(part, 16) for part in span.split("-"))
            found.append(Mapping(start, end, perms, int(offset, 16), device, int(inode), rest[0]))
    return found


@dataclass(frozen=True)
class Image:
    """A program or shared library as it lies in a process."""

    mappings: tuple[Mapping, ...]

    @property
    def base(self) -> int:
        return self.mappings[0].start

    @property
    def path(self) -> str:
        return self.mappings[0].path.removesuffix(" (deleted)")

    def code(self) -> list[tuple[int, int]]:
        """(offset from the base, size) of its executable parts."""
        return [(m.start - self.base, m.end - m.start) for m in self.mappings if "x" in m.perms]


def images(maps: list[Mapping]) -> list[Image]:
    files: dict[tuple[str, int], list[Mapping]] = {}
    for m in maps:
        files.setdefault((m.device, m.inode), []).append(m)
    return [Image(tuple(sorted(parts, key=lambda m: m.start))) for parts in files.values()]


def counterpart(own: Image, own_memory: Memory, pid: int, memory: Memory) -> Image:
    """The same Python as ``own`` in process ``pid``: the same file, or another file with the same machine code.

    Offsets learned in this process hold in that one only then: they are compiled into the code. Copies differ as
    files but not in code (conda writes the environment's path into each copy's data; containers mount layers anew).
    """
    theirs = images(mappings(pid))
    first = own.mappings[0]
    for image in theirs:
        if (image.mappings[0].device, image.mappings[0].inode) == (first.device, first.inode):
            return image
    name = os.path.basename(own.path)
    for image in theirs:
        if image.code() and image.code() == own.code() and _same_code(own, own_memory, image, memory):
            return image
    try:
        exe = os.readlink(f"/proc/{pid}/exe")
    except OSError as error:
        raise access_error(pid, error) from None
    raise PostmortemError(
        f"process {pid} ({exe}) does not run the same Python build as this one ({own.path}): no {name} with the same "
        "code in it. Start the reader with the Python that the process runs"
    )


def _same_code(own: Image, own_memory: Memory, other: Image, memory: Memory) -> bool:
    for start, size in own.code():
        for offset in range(start, start + size, 1 << 20):
            count = min(1 << 20, start + size - offset)
            if memory.read(other.base + offset, count) != own_memory.read(own.base + offset, count):
                return False
    return True
