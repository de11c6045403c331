"""raydebug broken in every way we could think of: Ray starts all the same and says why in its log."""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in
from tests.support.rays import RAYS

TASK = "import ray; ray.init(); print(ray.get(ray.remote(num_cpus=0)(lambda: 'task done').remote()))"


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"raydebug/__init__.py": "raise RuntimeError('broken on purpose')"}, "broken on purpose"),
        ({"raydebug/__init__.py": "raise SystemExit(3)"}, "SystemExit"),
        ({"raydebug/__init__.py": ""}, "No module named 'raydebug.plugin'"),
    ],
    ids=["raises", "exits", "hollow"],
)
@pytest.mark.parametrize("python", RAYS)
def test_a_module_that_fails_at_import(python: str, tmp_path: Path, broken: dict[str, str], said: str) -> None:
    plugin_in(python)
    for name, text in broken.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with RayCluster(num_cpus=1, python=python, env={"PYTHONPATH": str(tmp_path)}) as cluster:
        assert status(cluster.url + "/api/version") == 200
        assert status(cluster.url + "/debug") == 404
        done = subprocess.run(
            [cluster.python, "-c", TASK],
            env={**cluster.env, "RAY_ADDRESS": cluster.address},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "task done" in done.stdout
        for log in ("dashboard.log", "dashboard_agent.log"):
            path = cluster.log_dir / log
            text = wait_for(log, lambda path=path: path.read_text() if said in path.read_text() else None)  # type: ignore[misc]
            assert "Ray goes on without it" in text
            assert "pip install raydebug" in text
            assert "raydebug_module.py" in text
