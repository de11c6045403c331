#!/usr/bin/env python3
"""Is there one wheel in this folder, for every Python, with the page and Ray's module in it, and few needs?"""

from __future__ import annotations

import sys
import zipfile
from email.parser import Parser
from pathlib import Path

RAY_MODULE, ITS_SOURCE = "ray/dashboard/modules/raydebug_module.py", "raydebug/plugin/ray_module.py"
NEEDED = ("raydebug/static/index.html", "raydebug/py.typed", RAY_MODULE, ITS_SOURCE)
MOST_DEPENDENCIES = 14
MOST_BYTES = 5_000_000


def problems(folder: Path) -> list[str]:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1 or not wheels[0].name.endswith("-py3-none-any.whl"):
        return [f"found {[wheel.name for wheel in wheels]}, expected one py3-none-any wheel"]
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
        metadata = Parser().parsestr(
            wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
        )
        modules = {wheel.read(name) for name in (RAY_MODULE, ITS_SOURCE) if name in names}
    found = ["Ray's module differs from the one that install-plugin writes"] if len(modules) > 1 else []
    found += [f"{name} is not in the wheel" for name in NEEDED if name not in names]
    if not any(name.startswith("raydebug/static/assets/") and name.endswith(".js") for name in names):
        found.append("the front end's script is not in the wheel")
    found += [
        f"{name} is in the wheel"
        for name in names
        if not name.startswith(("raydebug", "ray/dashboard/modules/raydebug"))
    ]
    required = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    if len(required) > MOST_DEPENDENCIES:
        found.append(f"{len(required)} required dependencies, at most {MOST_DEPENDENCIES} are allowed")
    if wheels[0].stat().st_size > MOST_BYTES:
        found.append(f"the wheel has {wheels[0].stat().st_size} bytes, at most {MOST_BYTES} are allowed")
    return found


if __name__ == "__main__":
    answer = problems(Path(sys.argv[1]))
    print("\n".join(answer))
    sys.exit(1 if answer else 0)
