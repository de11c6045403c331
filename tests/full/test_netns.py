"""Two hosts: the second in a network namespace of its own, its link a veth pair on a bridge."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from raydebug.api.topology import Node
from tests.cluster.test_topology import JOBS, sites_of
from tests.support import api
from tests.support.cluster import RayCluster, wait_for
from tests.support.plugin import plugin_in

ASK = """
import json, sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Host": sys.argv[2]} if sys.argv[2:] else {})
try:
    with urllib.request.urlopen(request, timeout=10) as answer:
        print(json.dumps([answer.status, answer.read().decode()]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, error.read().decode()]))
"""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@dataclass
class Hosts:
    """``head``: the bridge's address; ``other``: the address inside namespace ``name``."""

    name: str
    head: str
    other: str

    @property
    def link(self) -> str:
        return f"{self.name}v"

    def inside(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def ask(self, url: str, *host: str) -> tuple[int, str]:
        """GET from the other host."""
        done = subprocess.run([*self.inside(), sys.executable, "-c", ASK, url, *host], check=True, capture_output=True)
        status, body = json.loads(done.stdout)
        return status, body


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("needs root and iproute2")
    number = os.getpid() % 250
    made = Hosts(f"rdb{number}", f"10.213.{number}.1", f"10.213.{number}.2")
    bridge, inner = f"{made.name}b", f"{made.name}i"
    try:
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{made.head}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        ip("netns", "add", made.name)
        ip("link", "add", made.link, "type", "veth", "peer", "name", inner, "netns", made.name)
        ip("link", "set", made.link, "master", bridge)
        ip("link", "set", made.link, "up")
        ip("-n", made.name, "addr", "add", f"{made.other}/24", "dev", inner)
        ip("-n", made.name, "link", "set", inner, "up")
        ip("-n", made.name, "link", "set", "lo", "up")
        yield made
    finally:
        for command in (("netns", "del", made.name), ("link", "del", bridge)):
            subprocess.run(["ip", *command], capture_output=True)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_netns_a_second_host(hosts: Hosts, tmp_path: Path) -> None:
    plugin_in()
    # Lost after 10 checks without an answer, each over a second: a cut of 40 s is survived, a longer one isn't.
    patience = {
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_timeout_ms": "4000",
        "RAY_health_check_failure_threshold": "10",
    }
    with RayCluster(num_cpus=2, ip=hosts.head, env=patience) as cluster:
        cluster.add_node(
            f"--node-ip-address={hosts.other}", f"--temp-dir={cluster.temp_dir}/two", prefix=hosts.inside()
        )

        def other() -> Node:
            nodes = {node.ip: node for node in api.topology(cluster.url).nodes}
            return nodes[hosts.other]

        def up() -> bool:
            assert other().helper == "up", other()
            return True

        wait_for("the helper of the second host", up, timeout=120)
        assert cluster.url.startswith(f"http://{hosts.head}:")
        page = f"{cluster.url}/debug/api/v1/health"
        status, body = hosts.ask(page)
        assert (status, json.loads(body)["status"]) == (200, "ok")
        assert hosts.ask(page, "evil.example")[0] == 403

        script = JOBS / "spread.py"
        job = cluster.run_script(str(script))
        try:
            (site,) = wait_for(
                "the place on both hosts",
                lambda: [site for site in sites_of(cluster, script) if len(site.members) == 2],
                timeout=120,
            )
            there = next(member for member in site.members if member.node_id == other().node_id)
            assert there.thread_id is not None

            ip("link", "set", hosts.link, "down")
            cut = wait_for("the cut to show", lambda: other() if other().helper == "connecting" else None, timeout=45)
            assert cut.alive
            assert cut.helper_note
            print(f"cut: {cut.helper_note}")
            ip("link", "set", hosts.link, "up")
            wait_for("the helper again", up, timeout=60)
            assert any(there.worker_id == member.worker_id for s in sites_of(cluster, script) for member in s.members)

            ip("link", "set", hosts.link, "down")
            wait_for("the node to be lost", lambda: not other().alive, timeout=120)
            assert other().death_cause
            wait_for("its place to go", lambda: [len(s.members) for s in sites_of(cluster, script)] == [1], timeout=30)
        finally:
            ip("link", "set", hosts.link, "up")
            job.kill()
            job.wait()
