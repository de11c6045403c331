"""Who may import whom, and the habits of the house. The table is the design's; a new room gets a row here first."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "backend" / "raydebug"
FRONTEND = ROOT / "frontend" / "src"
MOST_LINES = 500
GENERATED = re.compile(r"\.gen\.[a-z]+$")


@dataclass(frozen=True)
class Room:
    """``uses``: importable anywhere in a file. ``lazily``: inside a function only. Its own modules always are."""

    uses: frozenset[str] = frozenset()
    lazily: frozenset[str] = frozenset()


def room(uses: str = "", lazily: str = "") -> Room:
    return Room(frozenset(uses.split()), frozenset(lazily.split()))


HUB = "hub.nodes hub.sources hub.model hub.collect hub.debugger hub.http hub.stream hub.access hub.record hub.doctor"
# "" is raydebug/__init__.py: the version and the public names, importable by all.
ROOMS = {
    "": room(lazily="api worker"),
    "api": room(),
    "ray_compat": room("api"),
    "plugin": room("api ray_compat"),
    "hub": room(),
    "hub.app": room(f"api ray_compat {HUB}"),
    "hub.nodes": room("api"),
    "hub.sources": room("api ray_compat hub.model hub.nodes"),
    "hub.model": room("api"),
    "hub.collect": room("api ray_compat"),
    "hub.debugger": room("api dap probe hub.access hub.nodes"),
    "hub.http": room("api hub.model hub.access"),
    "hub.stream": room("api hub.model hub.access"),
    "hub.access": room("api"),
    "hub.record": room("api hub.model"),
    "hub.doctor": room("api ray_compat"),
    "helper": room("api dap"),
    "dap": room(),
    "worker": room("api", lazily="ray_compat"),
    # Sent as text into workers that may not have raydebug.
    "probe": room(),
    "cli": room("api", lazily="hub.app hub.access hub.doctor demo ray_compat"),
    "demo": room(),
}
# Facts and rules only: nothing that waits, nothing that talks.
PURE = {"hub.model", "api"}
IMPURE = {
    "asyncio",
    "aiohttp",
    "websockets",
    "socket",
    "ssl",
    "http",
    "urllib",
    "grpc",
    "ray",
    "subprocess",
    "threading",
}
# In Ray's own processes: what Ray has anyway.
RAY_PROCESS_PARTS = {"aiohttp", "yarl", "multidict"}
# ray_compat is the only door to Ray; the demo is a job like a user's and has Ray's public names.
RAY_DOORS = {"ray_compat", "demo"}
PRIVATE_RAY = re.compile(r"^ray\.(_|dashboard|core|experimental)")
# Goes as text to where ray_compat isn't.
NAMES_OF_RAY = PACKAGE / "probe" / "rays.py"


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    lazy: bool


def imports_of(path: Path) -> Iterator[Import]:
    """Every imported module, dotted and absolute; what only the type checker reads is left out."""

    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = ["raydebug", *path.relative_to(PACKAGE).parent.parts]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            yield from (Import(f"{base}.{alias.name}", node.lineno, lazy) for alias in node.names)
        deeper = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, deeper)

    yield from visit(ast.parse(path.read_text(), str(path)), False)


def room_of(module: str) -> str:
    """The room a module (or a name in one) lies in: the longest row of the table that holds it.

    Files that lie beside hub/app.py are the composition root's.
    """
    name = module.removeprefix("raydebug").removeprefix(".")
    parts = name.split(".")
    if parts[0] == "hub" and len(parts) > 1 and (PACKAGE / "hub" / f"{parts[1]}.py").is_file():
        return "hub.app"
    while name and name not in ROOMS:
        name = name.rpartition(".")[0]
    return name


def room_of_file(path: Path) -> str:
    inside = path.relative_to(PACKAGE).with_suffix("")
    name = ".".join(part for part in inside.parts if part != "__init__")
    found = room_of(f"raydebug.{name}")
    if (found == "" and name) or (found == "hub" and name != "hub"):
        pytest.fail(f"{path.relative_to(ROOT)} lies in no known room: give it a row in ROOMS, as the design says")
    return found


def python_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "static" not in path.relative_to(PACKAGE).parts)


def wrong_arrow(home: str, found: Import) -> str | None:
    if found.module.split(".")[0] != "raydebug":
        return None
    target = room_of(found.module)
    allowed = ROOMS[home].uses | {home, ""}
    if target in allowed or (found.lazy and target in ROOMS[home].lazily):
        return None
    when = "only inside a function" if target in ROOMS[home].lazily else "not"
    return f"{home or 'raydebug'} may {when} import {target} ({found.module})"


def wrong_part(home: str, found: Import) -> str | None:
    """Ray outside its doors, and what the pure rooms and Ray's own processes may not hold."""
    top = found.module.split(".")[0]
    if top == "ray" and (home not in RAY_DOORS or (home == "demo" and PRIVATE_RAY.match(found.module))):
        return f"{home or 'raydebug'} may not import {found.module}: ray_compat is the only door to Ray"
    if home in PURE and top in IMPURE:
        return f"{home} is pure and may not import {found.module}"
    if home == "plugin" and top not in RAY_PROCESS_PARTS | {"raydebug"} and not is_stdlib(top):
        return f"plugin runs in Ray's processes and may not import {found.module}"
    return None


def is_stdlib(top: str) -> bool:
    return top in sys.stdlib_module_names


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path: Path) -> None:
    home = room_of_file(path)
    wrong = []
    for found in imports_of(path):
        for message in (wrong_arrow(home, found), wrong_part(home, found)):
            if message:
                wrong.append(f"line {found.line}: {message}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_parts_of_ray_are_named_in_one_place(path: Path) -> None:
    """As text, too: ``sys.modules`` is a door as well as ``import``."""
    if room_of_file(path) == "ray_compat" or path == NAMES_OF_RAY:
        return
    nodes = ast.walk(ast.parse(path.read_text(), str(path)))
    texts = [(node.lineno, node.value) for node in nodes if isinstance(node, ast.Constant)]
    wrong = [f"line {line}: {text!r}" for line, text in texts if isinstance(text, str) and PRIVATE_RAY.match(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("home", "source", "right"),
    [
        ("hub.http", "from raydebug.hub.model.store import Store", True),
        ("hub.http", "from raydebug.hub.sources import gcs", False),
        ("hub.model", "import asyncio", False),
        ("hub.model", "import ray", False),
        ("cli", "from raydebug.hub.app import serve", False),
        ("cli", "def f():\n    from raydebug.hub.app import serve", True),
        ("demo", "import ray", True),
        ("demo", "from ray._private import worker", False),
        ("helper", "def f():\n    import ray", False),
        ("plugin", "import psutil", False),
        ("plugin", "from raydebug.ray_compat import dashboard", True),
        ("plugin", "from .head import x", True),
    ],
)
def test_the_arrows_hold(home: str, source: str, right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.test_layout.PACKAGE", tmp_path)
    path = tmp_path.joinpath(*home.split("."), "file.py")
    path.parent.mkdir(parents=True)
    path.write_text(source)
    wrong = [m for found in imports_of(path) for m in (wrong_arrow(home, found), wrong_part(home, found)) if m]
    assert bool(wrong) is not right, wrong


def tracked(*suffixes: str) -> list[Path]:
    """The repository's own files: those git knows or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    paths = [ROOT / name for name in listed if name]
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def test_no_file_is_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in tracked(".py", ".ts", ".tsx", ".css")
        if not GENERATED.search(path.name) and (lines := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert not long, f"over {MOST_LINES} lines: split by reason of change"


# Split, so that this file doesn't find itself.
UNWANTED = {
    "an open end": re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"),
    "a path of one machine": re.compile(r"/(home|Users)/[a-z]|(?<![\w./-])/(work|root)/[a-z]|\.pyenv/versions/\d"),
}
TEXT = {".py", ".ts", ".tsx", ".css", ".html", ".md", ".json", ".toml", ".lock", ".sh", ".mjs", ".yml", ".yaml", ""}


@pytest.mark.parametrize("what", UNWANTED)
def test_no_file_has(what: str) -> None:
    found = []
    for path in tracked():
        if path.suffix not in TEXT:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if UNWANTED[what].search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found, f"{what}:\n" + "\n".join(found)


FRONT_END_IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""")


def feature_of(path: Path) -> str | None:
    parts = path.relative_to(FRONTEND).parts
    return parts[1] if parts[0] == "features" and len(parts) > 2 else None


def front_end_target(path: Path, name: str) -> Path | None:
    """The file or folder under src that an import names; None for a package."""
    if name.startswith("."):
        return (path.parent / name).resolve()
    for prefix in ("@/", "~/", "src/"):
        if name.startswith(prefix):
            return FRONTEND / name.removeprefix(prefix)
    return None


def test_features_never_import_each_other() -> None:
    wrong = []
    for path in [*FRONTEND.rglob("*.ts"), *FRONTEND.rglob("*.tsx")]:
        top = path.relative_to(FRONTEND).parts[0]
        for name in FRONT_END_IMPORT.findall(path.read_text()):
            target = front_end_target(path, name)
            if target is None or not target.is_relative_to(FRONTEND / "features"):
                continue
            inside = target.relative_to(FRONTEND / "features").parts
            other = inside[0] if inside else ""
            if top in ("ui", "api", "i18n") or (top == "features" and feature_of(path) not in (None, other)):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not wrong, "\n".join(wrong)
