from __future__ import annotations

from typing import Any

from raydebug.api.doctor import DoctorReport
from raydebug.api.helper import Hello
from raydebug.api.topology import Node
from raydebug.hub.doctor.collect import Doctor, HelperFacts, RuntimeEnvFacts, installed_versions, name_nodes
from raydebug.hub.doctor.facts import DashboardFacts, Versions

VERSIONS = Versions(python="3.11.9", ray="2.60.0", debugpy="1.8.22", raydebug="0.1.0", protocol=1)


def node(node_id: str, ip: str, **changes: Any) -> Node:
    values: dict[str, Any] = {"hostname": "h", "alive": True, "is_head": False, "helper": "up"}
    return Node(node_id=node_id, ip=ip, **values | changes)


def helper(**changes: Any) -> HelperFacts:
    hello: dict[str, Any] = {
        "proof": "",
        "pid": 1,
        "start_ns": 0,
        "python_version": "3.11.9",
        "ray_version": "2.60.0",
        "debugpy_version": "1.8.22",
        "pyspy_version": "0.4.1",
        "ptrace": None,
        "env": {},
    }
    return HelperFacts(protocol=1, version="0.1.0", hello=Hello(**hello | changes))


async def report(**changes: Any) -> DoctorReport:
    given: dict[str, Any] = {
        "nodes": lambda: [node("aa", "10.0.0.1", is_head=True), node("bb", "10.0.0.2")],
        "helpers": lambda: {"aa": helper(), "bb": helper()},
        "runtime_envs": lambda: [],
        "dashboard": lambda: DashboardFacts(host="10.0.0.1", port=8265, token_mode=True),
        "session_dir": "/tmp",
        "environ": {},
        "versions": lambda: VERSIONS,
    }
    return await Doctor(**given | changes).report()


def lines(found: DoctorReport, level: str) -> list[tuple[str, str]]:
    return [(line.check, line.where) for line in found.checks if line.level == level]


async def test_a_healthy_cluster() -> None:
    found = await report()
    assert found.time_ns > 0
    assert lines(found, "error") == []
    assert {line.where for line in found.checks} == {"head", "10.0.0.2"}


async def test_a_node_without_raydebug() -> None:
    nodes = [node("aa", "10.0.0.1", is_head=True), node("bb", "10.0.0.2", helper="missing")]
    assert lines(await report(nodes=lambda: nodes, helpers=lambda: {"aa": helper()}), "error") == [
        ("helper", "10.0.0.2")
    ]


async def test_dead_nodes_are_left_out() -> None:
    nodes = [node("aa", "10.0.0.1", is_head=True), node("bb", "10.0.0.2", alive=False, helper="missing")]
    assert {line.where for line in (await report(nodes=lambda: nodes)).checks} == {"head"}


async def test_variables_of_nodes_head_jobs_and_actors() -> None:
    found = await report(
        environ={"RAY_DEBUGGER_HOST": "0.0.0.0", "SECRET": "s3cret"},
        helpers=lambda: {
            "aa": helper(env={"RAY_DEBUG_POSTMORTEM": "1"}),
            "bb": helper(env={"RAY_DEBUG": "legacy"}),
        },
        runtime_envs=lambda: [
            RuntimeEnvFacts(job_id="01", env_vars={"RAY_DEBUG_POST_MORTEM": "1", "HF_TOKEN": "s3cret"}),
            *(RuntimeEnvFacts(job_id="01", actor=f"a{i}", env_vars={"RAY_DEBUG": "0"}) for i in range(3)),
            RuntimeEnvFacts(job_id="01", actor="same", env_vars={"RAY_DEBUG_POST_MORTEM": "1", "RANK": "0"}),
        ],
    )
    assert lines(found, "error") == [("legacy_post_mortem", "job 01")]
    assert lines(found, "warning") == [
        ("post_mortem_misspelt", "head"),
        ("debugger_host", "head"),
        ("legacy", "10.0.0.2"),
        ("debug_off", "job 01, actor a0 and 2 more"),
    ]
    assert "s3cret" not in repr(found)


def test_nodes_that_share_an_ip_are_told_apart() -> None:
    named = name_nodes(
        [node("a" * 56, "127.0.0.1", is_head=True), node("b" * 56, "127.0.0.1"), node("c" * 56, "127.0.0.1")]
    )
    assert list(named.values()) == ["head", "127.0.0.1 (bbbbbbbb)", "127.0.0.1 (cccccccc)"]


def test_installed_versions_are_those_of_this_python() -> None:
    versions = installed_versions()
    assert versions.ray
    assert versions.python.count(".") == 2
