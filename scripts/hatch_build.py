"""Builds the front end into ``backend/raydebug/static`` before hatchling packs it; puts Ray's module into the wheel.

Runs for wheels, sdists and editable installs made from a source tree. An sdist carries the built pages, so that
installing from one needs no Node. ``RAYDEBUG_REBUILD=1`` builds again what is there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MIN_NODE = (20, 19)


class FrontEnd(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel":
            self.include_ray_module(build_data)
        root = Path(self.root)
        page = root / "backend" / "raydebug" / "static" / "index.html"
        if page.is_file() and os.environ.get("RAYDEBUG_REBUILD", "") in ("", "0"):
            return
        source = root / "frontend"
        if not (source / "package.json").is_file():
            raise SystemExit(
                f"raydebug: {page} is missing and there is no {source / 'package.json'} to build it from. "
                "Install from a release, or from a whole checkout of the repository."
            )
        npm = find_npm()
        # Where the checkout is one npm workspace, the lock file lies at its root.
        at = source if (source / "package-lock.json").is_file() or not (root / "package-lock.json").is_file() else root
        self.run([npm, "ci", "--no-audit", "--no-fund"], at)
        self.run([npm, "run", "build"], source)
        if not page.is_file():
            raise SystemExit(f"raydebug: `npm run build` in {source} ended well but did not write {page}.")

    def include_ray_module(self, build_data: dict[str, Any]) -> None:
        """Ray's dashboard finds its modules by walking the package path ray.dashboard.modules; there is no entry point.

        A copy, since what is force-included leaves its own place, and install-plugin needs the file there.
        """
        copy = Path(tempfile.mkdtemp(prefix="raydebug-build-")) / "raydebug_module.py"
        shutil.copyfile(Path(self.root) / "backend" / "raydebug" / "plugin" / "ray_module.py", copy)
        for key in ("force_include", "force_include_editable"):
            build_data.setdefault(key, {})[str(copy)] = "ray/dashboard/modules/raydebug_module.py"

    def run(self, command: list[str], cwd: Path) -> None:
        self.app.display_info(f"raydebug: {' '.join(command)} (in {cwd})")
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"raydebug: `{' '.join(command)}` failed in {cwd} (exit status {done.returncode}).")


def find_npm() -> str:
    need = f"Building raydebug's page from source needs Node >= {MIN_NODE[0]}.{MIN_NODE[1]} with npm"
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise SystemExit(f"raydebug: {need}; {'node' if node is None else 'npm'} isn't on PATH. https://nodejs.org")
    said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    found = re.match(r"v(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < MIN_NODE:
        raise SystemExit(f"raydebug: {need}; {node} is {said or 'silent'}. https://nodejs.org")
    return npm
