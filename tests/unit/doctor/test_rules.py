"""Each rule both ways: the broken fact gives its line with what to do, the good one an ok or nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from raydebug.api.doctor import Check
from raydebug.api.names import PROTOCOL
from raydebug.api.topology import SourceState
from raydebug.hub.doctor.facts import (
    HERE,
    ClusterVersions,
    DashboardFacts,
    DiskFacts,
    EnvAt,
    Facts,
    ModuleFacts,
    NodeFacts,
    ReachFacts,
    Versions,
)
from raydebug.hub.doctor.rules import check, parse_version

GOOD = Versions(python="3.11.9", ray="2.60.0", debugpy="1.8.22", raydebug="0.1.0", protocol=PROTOCOL)


def only(checks: list[Check], name: str) -> Check:
    found = [line for line in checks if line.check == name]
    assert len(found) == 1, checks
    if found[0].level != "ok":
        assert found[0].fix
    return found[0]


def names(checks: list[Check]) -> set[str]:
    return {line.check for line in checks}


def node(**changes: Any) -> NodeFacts:
    values: dict[str, Any] = {"where": "10.0.0.2", "is_head": False, "helper": "up", "versions": GOOD, "pyspy": "0.4.1"}
    return NodeFacts(**values | changes)


def on_node(**changes: Any) -> list[Check]:
    return check(Facts(versions=GOOD, nodes=[node(versions=msgspec.structs.replace(GOOD, **changes))]))


def variables(*places: EnvAt) -> list[Check]:
    return check(Facts(envs=list(places)))


def at(kind: Any = "node", where: str = "head", **env: str) -> EnvAt:
    return EnvAt(where=where, kind=kind, env=env)


def test_a_good_cluster_has_only_ok_lines() -> None:
    facts = Facts(
        versions=GOOD,
        nodes=[node(where="head", is_head=True), node()],
        envs=[at(), at(where="10.0.0.2"), at(kind="runtime_env", where="job 01")],
        module=ModuleFacts(where="head", state="current", path="/ray/dashboard/modules/raydebug_module.py"),
        dashboard=DashboardFacts(host="10.0.0.1", port=8265, token_mode=True),
        session_dir="/tmp/ray/session_x",
        disk=DiskFacts(path="/tmp", free=50, total=100),
    )
    checks = check(facts)
    assert {line.level for line in checks} == {"ok"}
    assert {"module", "helper", "ray_version", "debugpy_version", "python_version", "raydebug_version"} <= names(checks)
    assert {"ptrace", "variables", "dashboard_host", "token_mode", "session_dir", "disk"} <= names(checks)
    assert not any(line.fix for line in checks)


def test_nothing_known_gives_nothing() -> None:
    assert check(Facts()) == []


@pytest.mark.parametrize(
    ("state", "level", "word"),
    [
        ("current", "ok", "in its place"),
        ("missing", "error", "missing"),
        ("differs", "error", "not this version"),
        ("no_ray", "error", "no Ray"),
    ],
)
def test_module(state: Any, level: str, word: str) -> None:
    line = only(check(Facts(module=ModuleFacts(where=HERE, state=state, path="/p.py"))), "module")
    assert line.level == level
    assert word in line.message
    if state in ("missing", "differs"):
        assert "raydebug install-plugin" in line.fix


@pytest.mark.parametrize(
    ("ray", "level"),
    [
        ("2.41.0", "ok"),
        ("2.60.0", "ok"),
        ("3.0.0.dev0", "ok"),
        ("2.40.9", "error"),
        ("2.9.3", "error"),
        (None, "error"),
    ],
)
def test_ray_version(ray: str | None, level: str) -> None:
    line = only(check(Facts(versions=msgspec.structs.replace(GOOD, ray=ray))), "ray_version")
    assert line.level == level
    if level == "error":
        assert "2.41" in line.fix


@pytest.mark.parametrize(
    ("debugpy", "level", "word"),
    [
        ("1.8.0", "ok", "1.8.0"),
        ("1.8.22", "ok", "1.8.22"),
        ("2.0", "ok", "2.0"),
        ("1.7.9", "error", "too old"),
        ("1.10.0", "error", "texts"),
        (None, "error", "not installed"),
    ],
)
def test_debugpy_version(debugpy: str | None, level: str, word: str) -> None:
    for checks in (
        check(Facts(versions=msgspec.structs.replace(GOOD, debugpy=debugpy))),
        [line for line in on_node(debugpy=debugpy) if line.where == "10.0.0.2"],
    ):
        line = only(checks, "debugpy_version")
        assert line.level == level
        assert word in line.message


@pytest.mark.parametrize(
    ("changes", "name", "level"),
    [
        ({"ray": "2.49.2"}, "ray_version", "error"),
        ({"ray": None}, "ray_version", "error"),
        ({"python": "3.10.14"}, "python_version", "error"),
        ({"python": "3.11.4"}, "python_version", "warning"),
        ({"raydebug": "0.0.9"}, "raydebug_version", "warning"),
        ({"raydebug": "0.0.9", "protocol": PROTOCOL + 2}, "raydebug_version", "error"),
        ({}, "ray_version", "ok"),
        ({}, "python_version", "ok"),
        ({}, "raydebug_version", "ok"),
    ],
)
def test_nodes_are_compared_with_the_head(changes: dict[str, Any], name: str, level: str) -> None:
    line = only([line for line in on_node(**changes) if line.where == "10.0.0.2"], name)
    assert line.level == level


@pytest.mark.parametrize(
    ("helper", "level", "fix"),
    [
        ("up", "ok", ""),
        ("connecting", "warning", "wait"),
        ("missing", "error", "pip install raydebug"),
        ("refused", "error", "pip install raydebug==0.1.0"),
    ],
)
def test_helper(helper: Any, level: str, fix: str) -> None:
    versions = GOOD if helper == "up" else None
    line = only(check(Facts(versions=GOOD, nodes=[node(helper=helper, versions=versions)])), "helper")
    assert (line.level, line.where) == (level, "10.0.0.2")
    assert fix in line.fix
    if helper == "missing":
        assert "missing" in line.message
        assert "ray start" in line.fix


def test_a_node_without_helper_is_not_judged_further() -> None:
    assert names(check(Facts(nodes=[node(helper="missing", versions=None)]))) == {"helper"}


def test_ptrace() -> None:
    good = only(check(Facts(nodes=[node()])), "ptrace")
    assert good.level == "ok"
    bad = only(check(Facts(nodes=[node(ptrace="Yama ptrace_scope is 1")])), "ptrace")
    assert bad.level == "warning"
    assert "Yama ptrace_scope is 1" in bad.message
    assert "SYS_PTRACE" in bad.fix


@pytest.mark.parametrize(
    ("env", "name", "level"),
    [
        ({"RAY_DEBUG": "legacy", "RAY_DEBUG_POST_MORTEM": "1"}, "legacy_post_mortem", "error"),
        ({"RAY_DEBUG": "legacy"}, "legacy", "warning"),
        ({"RAY_DEBUG": "legacy", "RAY_DEBUG_POST_MORTEM": "0"}, "legacy", "warning"),
        ({"RAY_DEBUG": "legacy", "RAY_DEBUG_POST_MORTEM": "true"}, "legacy", "warning"),
        ({"RAY_DEBUG": "0"}, "debug_off", "warning"),
        ({"RAY_DEBUG": "true"}, "debug_off", "warning"),
        ({"RAY_DEBUG": "0", "RAY_DEBUG_POST_MORTEM": "1"}, "legacy_post_mortem", "error"),
        ({"RAY_DEBUG_POSTMORTEM": "1"}, "post_mortem_misspelt", "warning"),
        ({"RAY_DEBUG_POST_MORTEM": "true"}, "post_mortem_value", "warning"),
        ({"RAY_DEBUGGER_HOST": "0.0.0.0"}, "debugger_host", "warning"),
        ({}, "variables", "ok"),
        ({"RAY_DEBUG": "1", "RAY_DEBUG_POST_MORTEM": "1"}, "variables", "ok"),
        ({"RAY_DEBUG_POST_MORTEM": "0"}, "variables", "ok"),
    ],
)
@pytest.mark.parametrize("kind", ["node", "runtime_env", "shell"])
def test_variables(kind: Any, env: dict[str, str], name: str, level: str) -> None:
    checks = variables(EnvAt(where="w", kind=kind, env=env))
    assert name in names(checks)
    assert ("variables" in names(checks)) == (name == "variables")
    line = only(checks, name)
    assert (line.level, line.where) == (level, "w")


def test_the_fix_of_a_variable_says_where_to_set_it() -> None:
    env = {"RAY_DEBUGGER_HOST": "x"}
    assert "ray start" in only(variables(at("node", **env)), "debugger_host").fix
    assert "runtime_env" in only(variables(at("runtime_env", **env)), "debugger_host").fix
    assert "this shell" in only(variables(at("shell", **env)), "debugger_host").fix


def test_misspelt_and_ignored_variables_name_the_right_ones() -> None:
    assert "RAY_DEBUG_POST_MORTEM=1" in only(variables(at(RAY_DEBUG_POSTMORTEM="1")), "post_mortem_misspelt").fix
    line = only(variables(at(RAY_DEBUGGER_HOST="0.0.0.0")), "debugger_host")
    assert "ignores" in line.message
    assert "--ray-debugger-external" in line.message


@pytest.mark.parametrize(
    ("node_env", "job_env"),
    [
        ({"RAY_DEBUG": "legacy"}, {"RAY_DEBUG_POST_MORTEM": "1"}),
        ({"RAY_DEBUG_POST_MORTEM": "1"}, {"RAY_DEBUG": "legacy"}),
    ],
)
def test_a_conflict_may_come_from_a_node_and_a_runtime_env_together(
    node_env: dict[str, str], job_env: dict[str, str]
) -> None:
    checks = variables(at(**node_env), at("runtime_env", "job 01", **job_env))
    line = only(checks, "legacy_post_mortem")
    assert line.where == "job 01"
    assert "head" in line.message


def test_a_runtime_env_may_also_mend_what_the_node_sets() -> None:
    checks = variables(at(RAY_DEBUG="legacy"), at("runtime_env", "job 01", RAY_DEBUG="1", RAY_DEBUG_POST_MORTEM="1"))
    assert "legacy_post_mortem" not in names(checks)


def test_a_shell_does_not_lie_over_the_nodes() -> None:
    checks = variables(at(RAY_DEBUG="legacy"), at("shell", HERE, RAY_DEBUG_POST_MORTEM="1"))
    assert "legacy_post_mortem" not in names(checks)
    assert "runtime_env" in only(checks, "variables").message


@pytest.mark.parametrize(
    ("host", "others", "level"),
    [
        ("127.0.0.1", 0, "ok"),
        ("127.0.0.1", 2, "warning"),
        ("localhost", 1, "warning"),
        ("::1", 1, "warning"),
        ("0.0.0.0", 2, "ok"),
        ("10.0.0.1", 2, "ok"),
    ],
)
def test_dashboard_host(host: str, others: int, level: str) -> None:
    nodes = [node(where=f"10.0.0.{i}") for i in range(others)]
    line = only(check(Facts(nodes=nodes, dashboard=DashboardFacts(host=host, port=8265))), "dashboard_host")
    assert line.level == level
    if not host.startswith(("0", "10")):
        assert "--dashboard-host=0.0.0.0" in line.fix
        assert "ssh -L 8265" in line.fix
        assert "run code" in line.fix


@pytest.mark.parametrize(
    ("host", "token_mode", "level"),
    [("0.0.0.0", False, "warning"), ("0.0.0.0", True, "ok"), ("0.0.0.0", None, None), ("127.0.0.1", False, None)],
)
def test_token_mode(host: str, token_mode: bool | None, level: str | None) -> None:
    checks = check(Facts(dashboard=DashboardFacts(host=host, port=8265, token_mode=token_mode)))
    if level is None:
        assert "token_mode" not in names(checks)
    else:
        assert only(checks, "token_mode").level == level


def test_open_access() -> None:
    assert only(variables(at(RAYDEBUG_OPEN="1")), "open_access").level == "warning"
    assert "open_access" not in names(variables(at(RAYDEBUG_OPEN="0")))
    assert "open_access" not in names(variables(at(where="10.0.0.2", RAYDEBUG_OPEN="1")))


def test_sources() -> None:
    good = SourceState(name="gcs", ok=True, fresh_ns=1, period_ns=1)
    assert only(check(Facts(sources=[good])), "source").level == "ok"
    line = only(check(Facts(sources=[msgspec.structs.replace(good, ok=False, note="no answer")])), "source")
    assert line.level == "warning"
    assert "no answer" in line.message


def test_session_dir() -> None:
    assert only(check(Facts(session_dir="/tmp/ray/s")), "session_dir").level == "ok"
    assert only(check(Facts(session_dir="/" + "long" * 30)), "session_dir").level == "warning"


@pytest.mark.parametrize(("free", "level"), [(6, "ok"), (4, "warning"), (0, "warning")])
def test_disk(free: int, level: str) -> None:
    assert only(check(Facts(disk=DiskFacts(path="/tmp", free=free, total=100))), "disk").level == level


def reach(module: Any = None, **facts: Any) -> list[Check]:
    return check(
        Facts(
            module=ModuleFacts(where=HERE, state=module, path="/p") if module else None,
            reach=ReachFacts(**{"url": "http://h:8265", "dashboard": "up"} | facts),
        )
    )


def test_reach() -> None:
    assert only(reach(dashboard="down"), "dashboard").level == "error"
    assert only(reach(dashboard="foreign"), "dashboard").level == "error"
    up = reach(page="up", hub_version="0.1.0", hub_protocol=PROTOCOL)
    assert only(up, "dashboard").level == only(up, "hub").level == "ok"
    assert only(reach(page="hub_down"), "hub").level == "error"
    assert only(reach(page="unknown"), "hub").level == "error"
    assert only(reach(page="refused"), "hub").level == "error"
    other = only(reach(page="up", hub_version="9.9", hub_protocol=PROTOCOL + 1), "protocol")
    assert other.level == "error"
    assert "raydebug==9.9" in other.fix


@pytest.mark.parametrize(
    ("module", "local", "fix"),
    [
        ("current", True, "started before raydebug was installed"),
        ("missing", True, "raydebug install-plugin"),
        ("current", False, "pip install raydebug"),
        (None, True, "pip install raydebug"),
    ],
)
def test_a_dashboard_without_our_page(module: str | None, local: bool, fix: str) -> None:
    line = only(reach(module=module, page="not_found", local=local), "page")
    assert line.level == "error"
    assert fix in line.fix


@pytest.mark.parametrize(
    ("cluster", "name", "level"),
    [
        (ClusterVersions(python="3.11.9", ray="2.60.0"), "ray_version", "ok"),
        (ClusterVersions(python="3.11.9", ray="2.59.0"), "ray_version", "error"),
        (ClusterVersions(python="3.12.1", ray="2.60.0"), "python_version", "error"),
        (ClusterVersions(python="3.11.9", ray="2.60.0"), "python_version", "ok"),
    ],
)
def test_the_shell_is_compared_with_the_cluster(cluster: ClusterVersions, name: str, level: str) -> None:
    assert only(check(Facts(where=HERE, versions=GOOD, cluster=cluster)), name).level == level


def test_parse_version() -> None:
    assert parse_version("2.60.0rc1") == (2, 60, 0)
    assert parse_version("nonsense") == ()
