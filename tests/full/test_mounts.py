"""A worker that sees other files than its node, as in a container: its sources and breakpoints are those of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from raydebug.cli.live import LiveError
from tests.support.cluster import RayCluster
from tests.support.debugging import at_breakpoint, attached, debug_cluster, job, live

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root"),
    pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare (Debian: util-linux)"),
]

MOUNTED = Path(__file__).parent / "jobs" / "mounted.py"
TEXT = """\
def work(number):
    doubled = number * 2
    return doubled
"""
OTHER = """\
# Not what runs.


def work(number):
    raise AssertionError(number)
"""
BEGIN = """\
#!/bin/sh
# The worker keeps the process id that Ray has given it.
exec unshare --mount --propagation private \\
  sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' {image} {folder} {python} "$@"
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with debug_cluster() as started:
        yield started


@pytest.mark.parametrize("there", [OTHER, None], ids=["another text", "nothing"])
async def test_a_worker_in_a_mount_namespace_of_its_own(cluster: RayCluster, tmp_path: Path, there: str | None) -> None:
    image, folder, begin = tmp_path / "image", tmp_path / "folder", tmp_path / "begin"
    image.mkdir()
    folder.mkdir()
    (image / "image.py").write_text(TEXT)
    on_the_node = folder / "image.py"
    if there is not None:
        on_the_node.write_text(there)
    begin.write_text(BEGIN.format(image=image, folder=folder, python=sys.executable))
    begin.chmod(0o755)
    with job(cluster, MOUNTED, str(begin), str(folder)):
        async with live(cluster) as client:
            session, thread = await attached(client, MOUNTED, "gate")
            assert on_the_node.exists() == (there is not None)
            try:
                told = await session("source", path=str(on_the_node))
                assert (told["text"], told["changed"]) == (TEXT, False)
                assert told["breakable"] == [1, 2, 3]
                modules = (await session("modules", text="image"))["modules"]
                assert {"name": "image", "path": str(on_the_node)} in modules

                wanted = [{"line": 2}, {"line": 5}]
                rows = (await session("setBreakpoints", path=str(on_the_node), breakpoints=wanted))["breakpoints"]
                assert [row["verified"] for row in rows] == [True, False], "of the text that has 3 lines"
                stopped = await session.go_on(thread)
                assert (stopped.file, stopped.line, stopped.function) == (str(on_the_node), 2, "work")
                assert (await session.look(stopped))[1]["number"] == "1"
                stopped = await session.step("next", stopped)
                assert (await session.look(stopped))[1]["doubled"] == "2"

                # What only the node has isn't there.
                (tmp_path / "folder" / "late.py").write_text("x = 1\n")
                with pytest.raises(LiveError):
                    await session("source", path=str(folder / "late.py"))
                (row,) = (await session("setBreakpoints", path=str(folder / "late.py"), breakpoints=[{"line": 1}]))[
                    "breakpoints"
                ]
                assert (row["verified"], "where the worker runs" in row["message"]) == (False, True)
                await session("setBreakpoints", path=str(folder / "late.py"), breakpoints=[])
                await session("setBreakpoints", path=str(on_the_node), breakpoints=[])
                again = await session.go_on(stopped)
                assert again.line in at_breakpoint(MOUNTED, "gate")
            finally:
                await session("detach")
