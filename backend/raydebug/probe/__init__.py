"""Code that runs inside a stopped worker, sent there as text through debugpy's ``evaluate``.

The worker's environment may not have raydebug (a container, another virtual environment), so the modules beside this
one use the standard library alone, on Python 3.10 to 3.13, and reach numpy, torch and pandas only where the program
has loaded them. This module is the sender's side.

An expression goes with ``context: "clipboard"``, whose result isn't truncated. The result is JSON:
``{"ok": true, "value": …}``, or ``{"ok": false, "error": {"type", "message", "traceback"}}``; an error of type
``NotInstalledError`` asks for ``bootstrap()`` first.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

# In the order of their imports of each other.
MODULES = (
    "handles",
    "rays",
    "breaks",
    "text",
    "arrays",
    "values",
    "children",
    "namespace",
    "frames",
    "loops",
    "tensors",
    "tracing",
    "threads",
    "beside",
    "sources",
    "entry",
)
FUNCTIONS = frozenset(
    {
        "arm",
        "async_tasks",
        "children",
        "evaluate",
        "exception",
        "forget",
        "free_all",
        "free_this_thread",
        "go_on",
        "hello",
        "inspect",
        "lines",
        "modules",
        "nodelay",
        "poll",
        "read",
        "scope",
        "scopes",
        "start",
        "state",
        "suspend",
        "wake",
        "where",
    }
)


def _sources() -> dict[str, str]:
    folder = Path(__file__).parent
    return {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}


_SOURCES = _sources()
NAME = "_raydebug_probe_" + hashlib.sha256("\0".join(_SOURCES.values()).encode()).hexdigest()[:8]

_INSTALL = """
import sys
def install(name, sources):
    import linecache, threading, types
    with vars(sys).setdefault("_raydebug_probe_lock", threading.Lock()):
        if name in sys.modules:
            return False
        made = []
        try:
            package = types.ModuleType(name)
            package.__path__ = []
            package.__package__ = name
            made.append(name)
            # Without ``call`` until it is whole: another thread takes half of it for absent.
            sys.modules[name] = package
            for part, source in sources:
                full, shown = name + "." + part, "<raydebug probe " + part + ">"
                module = types.ModuleType(full)
                module.__package__ = name
                module.__file__ = shown
                sys.modules[full] = module
                made.append(full)
                exec(compile(source, shown, "exec", dont_inherit=True), module.__dict__)
                setattr(package, part, module)
                linecache.cache[shown] = (len(source), None, source.splitlines(True), shown)
            package.call = package.entry.call
        except BaseException:
            for full in made:
                sys.modules.pop(full, None)
            raise
    return True
"""


@functools.cache
def bootstrap() -> str:
    """An expression that installs the modules as the package ``NAME``; where it is there already, it does nothing."""
    packed = json.dumps([_INSTALL, NAME, list(_SOURCES.items())]).encode()
    text = base64.b64encode(zlib.compress(packed, 9)).decode("ascii")
    # One expression, with no name but what it brings: the stopped code may have its own ``type`` or ``sys``.
    return (
        "(lambda i: (lambda b, p: (lambda n: (b.exec(p[0], n), n['install'](p[1], p[2]))[1])({}))"
        "(i('builtins'), i('json').loads(i('zlib').decompress(i('base64').b64decode('" + text + "')))))"
        "(__import__)"
    )


def call(function: str, /, **arguments: Any) -> str:
    """The expression that calls a function of ``entry.FUNCTIONS`` in the worker."""
    if function not in FUNCTIONS:
        raise ValueError(f"the probe has no function {function!r}")
    absent = json.dumps({"ok": False, "error": {"type": "NotInstalledError", "message": NAME, "traceback": None}})
    # debugpy replaces @LINE@ by a line's end wherever it stands.
    text = json.dumps(arguments).replace("@", "\\u0040")
    return (
        f"(lambda i: (lambda m: m.call({function!r}, {text!r}) if hasattr(m, 'call') else "
        f"i('builtins').type('Absent', (), {{'__repr__': lambda s: {absent!r}}})())"
        f"(i('sys').modules.get({NAME!r})))(__import__)"
    )
