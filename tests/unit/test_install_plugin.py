from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from raydebug.cli.install import MODULE, SOURCE, install_plugin, module_status, remove_plugin, site_of_interpreter


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / MODULE.parent).mkdir(parents=True)
    (tmp_path / "ray" / "__init__.py").touch()
    return tmp_path


def run(command: object, *args: object) -> tuple[int, str]:
    result = CliRunner().invoke(command, [str(a) for a in args])  # type: ignore[arg-type]
    return result.exit_code, result.output


def test_install_and_remove(site: Path) -> None:
    assert module_status(site).state == "missing"
    code, said = run(install_plugin, "--ray-site", site)
    assert (code, "Wrote" in said) == (0, True)
    assert (site / MODULE).read_bytes() == SOURCE.read_bytes()
    assert module_status(site).state == "current"
    code, said = run(install_plugin, "--ray-site", site)
    assert (code, "nothing to do" in said) == (0, True)

    (site / MODULE).write_text("# of another version")
    assert module_status(site).state == "differs"
    assert run(install_plugin, "--ray-site", site)[0] == 0
    assert module_status(site).state == "current"

    assert run(remove_plugin, "--ray-site", site)[0] == 0
    code, said = run(remove_plugin, "--ray-site", site)
    assert (code, "nothing to do" in said) == (0, True)
    assert os.listdir((site / MODULE).parent) == []


def test_no_ray_there(tmp_path: Path) -> None:
    code, said = run(install_plugin, "--ray-site", tmp_path)
    assert code == 1
    assert "doesn't exist" in said
    assert module_status(tmp_path).state == "no_ray"
    code, said = run(install_plugin, "--python", "/nonexistent/python")
    assert code == 2
    assert "can't be run" in said
    assert run(install_plugin, "--ray-site", tmp_path, "--python", sys.executable)[0] == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_not_writable(site: Path) -> None:
    (site / MODULE.parent).chmod(0o500)
    code, said = run(install_plugin, "--ray-site", site)
    assert code == 1
    assert "can't be written" in said


def test_the_running_interpreters_ray_is_found_without_importing_it() -> None:
    found = site_of_interpreter()
    assert found is not None
    assert (found / "ray" / "__init__.py").is_file()
    assert site_of_interpreter(sys.executable) == found
