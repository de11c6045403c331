"""``raydebug doctor`` at its three levels, against real ports."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from raydebug.api.doctor import Check, CheckLevel, DoctorReport
from raydebug.cli import main
from raydebug.cli.install import ModuleStatus

from .server import FakeDashboard, error, health


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Our file is in its place, as far as these tests don't say else."""
    state: dict[str, Any] = {"state": "current"}
    monkeypatch.setattr(
        "raydebug.cli.doctor.module_status", lambda: ModuleStatus(path=Path("/p.py"), detail="", **state)
    )
    return state


def call(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--address", url, *arguments])


def checks(url: str) -> tuple[dict[str, Check], int]:
    """By id, of the shell and the way to the hub first."""
    result = call(url, "--json")
    report = msgspec.json.decode(result.stdout_bytes, type=DoctorReport)
    assert report.time_ns > 0
    found: dict[str, Check] = {}
    for line in report.checks:
        found.setdefault(line.check, line)
    return found, result.exit_code


def report(*levels: CheckLevel) -> DoctorReport:
    return DoctorReport(
        time_ns=7,
        checks=[Check(check=f"c{i}", level=level, where="head", message=f"m{i}") for i, level in enumerate(levels)],
    )


def test_no_cluster() -> None:
    found, exit_code = checks("http://127.0.0.1:9")
    assert exit_code == 3
    assert found["dashboard"].level == "error"
    assert "ray start --head" in found["dashboard"].fix
    assert found["ray_version"].level == found["module"].level == found["variables"].level == "ok"


def test_no_cluster_in_words() -> None:
    result = call("http://127.0.0.1:9")
    assert result.exit_code == 3
    assert f"here: this shell, and Python at {sys.executable}" in result.stdout
    assert "✗ error   nothing answers" in result.stdout
    assert "fix: ray start --head" in result.stdout
    assert "1 error, 0 warnings" in result.stdout.splitlines()[-1]


def test_no_gcs(monkeypatch: pytest.MonkeyPatch) -> None:
    found, exit_code = checks("127.0.0.1:9")
    assert exit_code == 3
    assert found["dashboard"].level == "error"
    assert found["ray_version"].level == "ok"


def test_bad_usage() -> None:
    assert call("nonsense").exit_code == 2


def test_something_else_on_the_port(fake: FakeDashboard) -> None:
    fake.answers = {"/": (200, b"hello")}
    found, exit_code = checks(fake.url)
    assert exit_code == 3
    assert "not Ray's dashboard" in found["dashboard"].message


def test_what_does_not_speak_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        import threading

        def serve() -> None:
            for _ in range(4):
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        found, exit_code = checks(f"http://127.0.0.1:{server.getsockname()[1]}")
    assert exit_code == 3
    assert found["dashboard"].level == "error"


@pytest.mark.parametrize(
    ("state", "fix"), [("current", "started before raydebug was installed"), ("missing", "install-plugin")]
)
def test_a_dashboard_without_our_module(fake: FakeDashboard, module: dict[str, Any], state: str, fix: str) -> None:
    module["state"] = state
    found, exit_code = checks(fake.url)
    assert exit_code == 1
    assert found["dashboard"].level == "ok"
    assert fix in found["page"].fix


def test_a_hub_that_is_down(fake: FakeDashboard) -> None:
    fake.hub(health=error(503, "hub_down", "raydebug's hub can't be kept running", "Read its log: /x.log"))
    found, exit_code = checks(fake.url)
    assert exit_code == 1
    assert "can't be kept running Read its log: /x.log" in found["hub"].message


def test_token_mode_without_a_token(fake: FakeDashboard) -> None:
    fake.hub(health=(401, b"Unauthorized"))
    fake.answers["/api/version"] = (401, b"Unauthorized")
    found, exit_code = checks(fake.url)
    assert exit_code == 4
    assert found["dashboard"].level == "ok"
    assert "RAY_AUTH_TOKEN" in found["hub"].fix


@pytest.mark.parametrize(
    ("levels", "exit_code"), [(["ok"], 0), (["ok", "warning"], 0), (["warning", "error", "ok"], 1)]
)
def test_the_hubs_report(fake: FakeDashboard, levels: list[CheckLevel], exit_code: int) -> None:
    fake.hub(doctor=report(*levels))
    result = call(fake.url, "--json")
    assert result.exit_code == exit_code
    document = json.loads(result.stdout)
    assert document["time_ns"] == 7
    assert document["checks"][-len(levels) :] == json.loads(msgspec.json.encode(report(*levels)))["checks"]
    assert {line["where"] for line in document["checks"]} == {"here", fake.url, "head"}
    text = call(fake.url)
    assert text.exit_code == exit_code
    assert f"m{len(levels) - 1}" in text.stdout


def test_the_hubs_report_may_not_be_seen(fake: FakeDashboard) -> None:
    fake.hub(doctor=error(403, "forbidden", "The doctor needs the role viewer.", "Pass a token."))
    found, exit_code = checks(fake.url)
    assert exit_code == 4
    assert found["report"].level == "error"
    assert (found["report"].message, found["report"].fix) == ("The doctor needs the role viewer.", "Pass a token.")
    assert found["hub"].level == "ok"
    assert call(fake.url).exit_code == 4


def test_a_hub_of_another_protocol(fake: FakeDashboard) -> None:
    fake.hub(health=health(version="9.0", protocol=9), doctor=report("ok"))
    found, exit_code = checks(fake.url)
    assert exit_code == 1
    assert "raydebug==9.0" in found["protocol"].fix


def test_another_ray_here_than_there_is_a_warning(fake: FakeDashboard) -> None:
    fake.hub(health=health(ray="2.41.0"), doctor=report("ok"))
    found, exit_code = checks(fake.url)
    assert exit_code == 0
    assert found["ray_version"].level == "warning"
    assert "2.41.0" in found["ray_version"].fix


def test_this_python_without_our_module_is_a_warning_where_a_hub_is_up(
    fake: FakeDashboard, module: dict[str, Any]
) -> None:
    module["state"] = "missing"
    fake.hub(doctor=report("ok"))
    found, exit_code = checks(fake.url)
    assert (found["module"].level, exit_code) == ("warning", 0)


def test_variables_of_this_shell(fake: FakeDashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.hub(doctor=report("ok"))
    monkeypatch.setenv("RAY_DEBUG_POSTMORTEM", "1")
    found, exit_code = checks(fake.url)
    assert (found["post_mortem_misspelt"].level, exit_code) == ("warning", 0)
    monkeypatch.setenv("RAY_DEBUG", "legacy")
    monkeypatch.setenv("RAY_DEBUG_POST_MORTEM", "1")
    found, exit_code = checks(fake.url)
    assert (found["legacy_post_mortem"].level, exit_code) == ("error", 1)
