"""Sources as the worker has them: its loaded modules, a file's text, and whether it still is what was imported."""

from __future__ import annotations

import hashlib
import io
import linecache
import os
import stat
import sys
import tokenize
import types
import warnings
from collections.abc import Iterator
from typing import Any

MOST_BYTES = 2_000_000
# Files beyond this aren't read at all.
MOST_READ = 50_000_000


class NotLoadedError(LookupError):
    """A file that the process doesn't run: it isn't read."""


def _namespaces() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, module in list(sys.modules.items()):
        # Whatever lies in sys.modules: a lazy module loads when it is touched in any other way.
        if isinstance(name, str) and issubclass(type(module), types.ModuleType):
            yield name, types.ModuleType.__getattribute__(module, "__dict__")


def _file(namespace: dict[str, Any]) -> str | None:
    path = namespace.get("__file__")
    return path if isinstance(path, str) and path.endswith((".py", ".pyw")) else None


def modules(text: str = "", limit: int = 200) -> dict[str, Any]:
    """Loaded modules with a source file; of those whose name or path holds ``text``, the best first."""
    wanted = text.strip().lower()
    found: list[tuple[int, int, str, str]] = []
    for name, namespace in _namespaces():
        path = _file(namespace)
        if path is None or name.startswith("_raydebug_probe_"):
            continue
        rank = _rank(wanted, name.lower(), path.lower())
        if rank is not None:
            found.append((rank, len(name), name, os.path.abspath(path)))
    found.sort()
    shown = [{"name": name, "path": path} for _, _, name, path in found[: max(0, min(int(limit), 2000))]]
    return {"modules": shown, "total": len(found)}


def _rank(wanted: str, name: str, path: str) -> int | None:
    if not wanted:
        return 0
    last = name.rpartition(".")[2]
    base = os.path.basename(path)
    for rank, matches in enumerate(
        (
            wanted in (name, last, base, path),
            base.startswith(wanted) or last.startswith(wanted),
            name.startswith(wanted),
            wanted in name or wanted in base,
            wanted in path,
        )
    ):
        if matches:
            return rank
    return None


def _module_of(path: str) -> dict[str, Any] | None:
    for _, namespace in _namespaces():
        file = namespace.get("__file__")
        if isinstance(file, str) and (file == path or os.path.abspath(file) == path):
            return namespace
    return None


def _runs(path: str) -> bool:
    """Whether a frame of any thread is in the file."""
    for frame in sys._current_frames().values():
        step: types.FrameType | None = frame
        while step is not None:
            if path in (step.f_code.co_filename, os.path.abspath(step.f_code.co_filename)):
                return True
            step = step.f_back
    return False


def read(path: str, any_file: bool = False) -> dict[str, Any]:
    """A source file's text (``api.debug.SourceText``).

    Only what the process has loaded as code, but with ``any_file``: who may look at sources may not read every file.
    """
    if "\0" in path:
        raise ValueError("no path")
    namespace = _module_of(path)
    if namespace is None and not any_file and path not in linecache.cache and not _runs(path):
        raise NotLoadedError(f"{path[:500]}: this process has loaded no such source")
    data = _bytes(path)
    if data is None:
        text = _elsewhere(path, namespace)
        if text is None:
            raise FileNotFoundError(f"{path[:500]}: no such file where the worker runs, and no loader has its source")
        data = text.encode("utf-8", "surrogatepass")
        on_disk = False
    else:
        text = decoded(data)
        on_disk = True
    shown = text[:MOST_BYTES]
    code = _compiled(text, path)
    return {
        "path": path,
        "text": shown,
        "sha256": hashlib.sha256(data).hexdigest(),
        "lines": text.count("\n") + (not text.endswith("\n") and bool(text)),
        "changed": on_disk and _changed(path, code, namespace),
        "clipped": len(text) - len(shown),
        "breakable": [] if code is None else breakable(code),
    }


def lines(path: str) -> dict[str, Any]:
    """How many lines a file has that breakpoints may be set in; or why none may."""
    namespace = _module_of(path)
    loaded = namespace is not None or path in linecache.cache or _runs(path)
    shown = path[-300:]
    data = _bytes(path)
    text = decoded(data) if data is not None else _elsewhere(path, namespace)
    if text is None:
        if loaded:
            return {}  # what it is made of isn't known
        return {"problem": f"{shown}: no such file where the worker runs."}
    if not loaded and not path.endswith((".py", ".pyw")):
        return {"problem": f"{shown} isn't a Python source: one was expected, or a file that the worker runs as code."}
    if not loaded and _compiled(text, path) is None:
        return {"problem": f"{shown} isn't Python {sys.version_info[0]}.{sys.version_info[1]}: it can't be compiled."}
    return {"lines": text.count("\n") + (not text.endswith("\n") and bool(text))}


def _bytes(path: str) -> bytes | None:
    try:
        about = os.stat(path)
        # A pipe or device would block.
        if not stat.S_ISREG(about.st_mode):
            return None
        if about.st_size > MOST_READ:
            raise ValueError(f"{path[:500]}: {about.st_size:,} bytes are more than is read")
        with open(path, "rb") as file:
            return file.read(MOST_READ)
    except OSError:
        return None


def _elsewhere(path: str, namespace: dict[str, Any] | None) -> str | None:
    """The source of what is no file: of a zip's module, of a console's cell."""
    entry = linecache.cache.get(path)
    if entry is not None and len(entry) == 4:
        return "".join(entry[2])
    get_source = getattr((namespace or {}).get("__loader__"), "get_source", None)
    try:
        found = get_source((namespace or {}).get("__name__")) if get_source is not None else None
    except (ImportError, OSError):
        return None
    return found if isinstance(found, str) else None


def decoded(data: bytes) -> str:
    """Python's rules for a source's encoding; what doesn't decode is shown as such."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        encoding = "utf-8"
    text = data.decode(encoding, "replace")
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)


def _compiled(text: str, path: str) -> types.CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    pending = [code]
    while pending:
        found = pending.pop()
        yield found
        pending.extend(constant for constant in found.co_consts if isinstance(constant, types.CodeType))


def breakable(code: types.CodeType) -> list[int]:
    """Lines with code of their own: a breakpoint on another never hits."""
    found: set[int] = set()
    for part in codes(code):
        found.update(line for _, _, line in part.co_lines() if line is not None and line > 0)
    return sorted(found)


def _changed(path: str, code: types.CodeType | None, namespace: dict[str, Any] | None) -> bool:
    """Whether the functions that are loaded aren't those of the file; where none can be compared, by its time."""
    loaded = _loaded_code(path, namespace)
    if code is None:
        return bool(loaded)
    if loaded:
        there = {_mark(part) for part in codes(code)}
        return any(_mark(part) not in there for part in loaded)
    started = _started()
    try:
        return started is not None and os.stat(path).st_mtime > started
    except OSError:
        return False


def _mark(code: types.CodeType) -> tuple[str, int, bytes, tuple[str, ...]]:
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names


def _loaded_code(path: str, namespace: dict[str, Any] | None) -> list[types.CodeType]:
    found: list[types.CodeType] = []
    for frame in sys._current_frames().values():
        step: types.FrameType | None = frame
        while step is not None:
            if step.f_code.co_filename == path and step.f_code.co_name != "<module>":
                found.append(step.f_code)
            step = step.f_back
    values = list((namespace or {}).values())
    for value in values:
        if issubclass(type(value), type):
            values.extend(list(type.__getattribute__(value, "__dict__").values())[:1000])
        if len(values) > 10_000:
            break
    for value in values:
        function = value.__func__ if type(value) in (staticmethod, classmethod) else value
        if type(function) is types.FunctionType and function.__code__.co_filename == path:
            found.append(function.__code__)
    return found


def _started() -> float | None:
    """When this process started, as Unix time."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith(b"btime"))
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, StopIteration, IndexError):
        return None
