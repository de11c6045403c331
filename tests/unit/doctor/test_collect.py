from __future__ import annotations

from typing import Any

import msgspec

from raydebug.api.doctor import DoctorReport
from raydebug.api.facts import ActorFact, ClusterFacts, JobFact
from raydebug.api.helper import Hello
from raydebug.api.topology import Node
from raydebug.hub.doctor.collect import Doctor, HelperFacts, dashboard_facts, installed_versions, name_nodes
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
        "helper": {"aa": helper(), "bb": helper()}.get,
        "cluster": lambda: ClusterFacts(nodes=[], jobs=[], actors=[]),
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
    assert lines(await report(nodes=lambda: nodes, helper={"aa": helper()}.get), "error") == [("helper", "10.0.0.2")]


async def test_dead_nodes_are_left_out() -> None:
    nodes = [node("aa", "10.0.0.1", is_head=True), node("bb", "10.0.0.2", alive=False, helper="missing")]
    assert {line.where for line in (await report(nodes=lambda: nodes)).checks} == {"head"}


def job(job_id: str, ended: bool = False, **env: str) -> JobFact:
    values: dict[str, Any] = dict.fromkeys(JobFact.__struct_fields__)
    return JobFact(**values | {"job_id": job_id, "entrypoint": "", "ended": ended, "env": env})


def actor(name: str, state: str = "ALIVE", job_id: str = "01", **env: str) -> ActorFact:
    values: dict[str, Any] = dict.fromkeys(ActorFact.__struct_fields__)
    return ActorFact(**values | {"name": name, "job_id": job_id, "state": state, "class_name": "A", "env": env})


async def test_variables_of_nodes_head_jobs_and_actors() -> None:
    jobs = [job("01", RAY_DEBUG_POST_MORTEM="1", HF_TOKEN="s3cret"), job("02", ended=True, RAY_DEBUG="0")]
    actors = [
        *(actor(f"a{i}", RAY_DEBUG="0") for i in range(3)),
        actor("same", RAY_DEBUG_POST_MORTEM="1", RANK="0"),
        actor("dead", state="DEAD", RAY_DEBUGGER_HOST="x"),
        actor("of an ended job", job_id="02", RAY_DEBUGGER_HOST="x"),
    ]
    found = await report(
        environ={"RAY_DEBUGGER_HOST": "0.0.0.0", "SECRET": "s3cret"},
        helper={
            "aa": helper(env={"RAY_DEBUG_POSTMORTEM": "1"}),
            "bb": helper(env={"RAY_DEBUG": "legacy"}),
        }.get,
        cluster=lambda: ClusterFacts(nodes=[], jobs=jobs, actors=actors),
    )
    assert lines(found, "error") == [("legacy_post_mortem", "job 01")]
    assert lines(found, "warning") == [
        ("post_mortem_misspelt", "head"),
        ("debugger_host", "head"),
        ("legacy", "10.0.0.2"),
        ("debug_off", "job 01, actor a0 and 2 more"),
    ]
    assert "s3cret" not in repr(found)


async def test_a_helper_of_another_version() -> None:
    old = msgspec.structs.replace(helper(), version="0.0.9", protocol=0)
    assert lines(await report(helper={"aa": helper(), "bb": old}.get), "error") == [("raydebug_version", "10.0.0.2")]
    unknown = msgspec.structs.replace(helper(), version=None, protocol=None)
    assert lines(await report(helper={"aa": helper(), "bb": unknown}.get), "error") == []


def test_where_the_dashboard_listens() -> None:
    assert dashboard_facts("http://127.0.0.1:8265", False) == DashboardFacts(
        host="127.0.0.1", port=8265, token_mode=False
    )
    assert dashboard_facts("http://[fd00::1]:8265", None) == DashboardFacts(host="fd00::1", port=8265)
    assert dashboard_facts(None, None) is None


def test_nodes_that_share_an_ip_are_told_apart() -> None:
    named = name_nodes(
        [node("a" * 56, "127.0.0.1", is_head=True), node("b" * 56, "127.0.0.1"), node("c" * 56, "127.0.0.1")]
    )
    assert list(named.values()) == ["head", "127.0.0.1 (bbbbbbbb)", "127.0.0.1 (cccccccc)"]


def test_installed_versions_are_those_of_this_python() -> None:
    versions = installed_versions()
    assert versions.ray
    assert versions.python.count(".") == 2
