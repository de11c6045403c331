"""Answers of the routes: shapes, errors, compression, the page."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import msgspec
import pytest

from raydebug.api.errors import ErrorAnswer
from raydebug.api.health import Health
from raydebug.api.paused import Paused
from raydebug.api.topology import SourceState, Topology
from raydebug.hub.model.store import Store
from raydebug.hub.model.views import set_source
from tests.unit.hub import rows
from tests.unit.hub.conftest import Serve, Served

API = "/debug/api/v1"


async def test_topology_nests_the_tables(served: Served) -> None:
    async with served.get(f"{API}/topology") as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        view = msgspec.json.decode(await answer.read(), type=Topology)
    first, second = view.jobs
    assert [member.rank for member in first.groups[0].members] == [0, 1]
    assert [actor.actor_id for actor in first.actors] == ["b0"]
    assert (second.groups, [actor.actor_id for actor in second.actors]) == ([], ["c0"])
    assert view.sources == [rows.source()]
    async with served.get(f"{API}/topology?job={rows.JOBS[1]}") as answer:
        assert [job["job_id"] for job in (await answer.json())["jobs"]] == [rows.JOBS[1]]


async def test_paused_oldest_first(served: Served) -> None:
    async with served.get(f"{API}/paused") as answer:
        sites = msgspec.json.decode(await answer.read(), type=Paused).sites
    assert [(site.site_id, site.since_ns) for site in sites] == [("s1", 3), ("s2", 5)]


@pytest.mark.parametrize("path", ["topology", "paused"])
async def test_only_viewers_read_error_messages(served: Served, path: str) -> None:
    async with served.get(f"{API}/{path}") as answer:
        assert "secret" not in await answer.text()
    async with served.get(f"{API}/{path}", **{"X-Raydebug-Token": served.token}) as answer:
        assert "it said a secret" in await answer.text()


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "topology?nope=1", 400, "nope"),
        ("GET", "topology?job=", 400, "job"),
        ("GET", "topology?job=1&job=2", 400, "job"),
        ("GET", "topology?job=ffffffff", 404, "ffffffff"),
        ("GET", "health?x=1", 400, "x"),
        ("GET", "nothing", 404, ""),
        ("GET", "", 404, ""),
        ("GET", "grants/x", 405, "DELETE"),
        ("POST", "topology", 405, "GET"),
        ("PUT", "health", 405, "GET"),
        ("DELETE", "paused", 405, "GET"),
    ],
)
async def test_errors_have_one_shape(served: Served, method: str, path: str, status: int, says: str) -> None:
    async with served.session.request(method, f"http://localhost{API}/{path}") as answer:
        assert answer.status == status
        assert answer.content_type == "application/json"
        assert says in msgspec.json.decode(await answer.read(), type=ErrorAnswer).error.message


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "body"),
        (b"{}", "role"),
        (b'{"role":"anonymous","name":"x"}', "role"),
        (b'{"role":"viewer","name":"  "}', "name"),
        (b'{"role":"viewer","name":"x","expires_s":-1}', "expires_s"),
        (b'{"role":"viewer","name":"x","expires_s":1e400}', ""),
        (b'{"role":"viewer","name":"x","jobs":[]}', "jobs"),
        (b'{"role":"viewer","name":"x","more":1}', "more"),
    ],
)
async def test_bad_grants_name_what_is_wrong(served: Served, body: bytes, says: str) -> None:
    headers = {"X-Raydebug-Token": served.token}
    async with served.session.post(f"http://localhost{API}/grants", data=body, headers=headers) as answer:
        assert answer.status == 400
        assert says in (await answer.json())["error"]["message"]


async def test_grants_by_rest(served: Served) -> None:
    headers = {"X-Raydebug-Token": served.token, "Host": "10.0.0.1:8265"}
    body = b'{"role":"viewer","name":"Ann","jobs":["01000000"],"expires_s":60}'
    async with served.session.post(f"http://localhost{API}/grants", data=body, headers=headers) as answer:
        assert answer.status == 201
        made = await answer.json()
    assert made["link"] == f"http://10.0.0.1:8265/debug#token={made['token']}"
    async with served.get(f"{API}/whoami", **{"X-Raydebug-Token": made["token"]}) as answer:
        assert await answer.json() == {"role": "viewer", "how": "grant", "name": "Ann"}
    url = f"http://localhost{API}/grants/{made['grant']['grant_id']}"
    async with served.session.delete(url, headers=headers) as answer:
        assert await answer.json() == {"grants": []}
    async with served.session.delete(url, headers=headers) as answer:
        assert answer.status == 404
    log = (served.hub.config.session_dir / "raydebug" / "audit.log").read_text()
    assert [json.loads(line)["event"] for line in log.splitlines()] == ["grant", "revoke"]
    for path in (served.hub.config.session_dir / "raydebug").iterdir():
        assert path.stat().st_mode & 0o077 == 0
        assert made["token"] not in path.read_text()


async def test_health_and_metrics(served: Served) -> None:
    async with served.get(f"{API}/health") as answer:
        health = msgspec.json.decode(await answer.read(), type=Health)
    assert (health.status, health.auth) == ("ok", "off")
    async with served.get(f"{API}/health", **{"X-Raydebug-Route": "ray-auth"}) as answer:
        assert (await answer.json())["auth"] == "ray_token"
    set_source(served.store, rows.source("helpers", ok=False))
    async with served.get(f"{API}/health") as answer:
        assert (await answer.json())["status"] == "degraded"
    async with served.get(f"{API}/metrics") as answer:
        assert answer.content_type == "text/plain"
        text = await answer.text()
    for name in ("connections 0", "patches_total", "resyncs_total", "loop_lag_seconds", "rss_bytes"):
        assert f"raydebug_{name}" in text
    assert 'raydebug_source_ok{source="helpers"} 0' in text


async def test_openapi_describes_all_of_the_api(served: Served) -> None:
    async with served.get(f"{API}/openapi.json") as answer:
        document = await answer.json()
    assert {"get", "post"} == set(document["paths"][f"{API}/grants"])
    job = document["paths"][f"{API}/topology"]["get"]["parameters"]
    assert [(item["name"], item["in"]) for item in job] == [("job", "query")]
    text = json.dumps(document)
    for name in text.split('"#/components/schemas/')[1:]:
        assert name.split('"')[0] in document["components"]["schemas"]


async def test_large_answers_are_compressed_for_those_who_ask(served: Served) -> None:
    served.store.replace("actors", {f"a{i}": rows.actor(f"a{i}") for i in range(1000)})
    url = f"http://localhost{API}/topology"
    async with served.session.get(url, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert len((await answer.json())["jobs"][0]["actors"]) == 1000
    async with served.session.get(url, headers={"Accept-Encoding": "gzip;q=0"}) as answer:
        assert "Content-Encoding" not in answer.headers
        assert len((await answer.json())["jobs"][0]["actors"]) == 1000


async def test_the_page(serve: Serve, tmp_path: Path) -> None:
    static = tmp_path / "static"
    served = await serve(static=static)
    async with served.get("/debug") as answer:
        assert "npm run build" in await answer.text()
    (static / "assets").mkdir(parents=True)
    script = b"let x = 1;" * 500
    (static / "assets" / "app-1.js").write_bytes(script)
    (static / "assets" / "app-1.js.gz").write_bytes(gzip.compress(script))
    (static / "secret.txt").write_text("secret")
    (static / "index.html").write_text('<div id="root"></div>')
    for path in ("/debug", "/debug/"):
        async with served.get(path) as answer:
            assert 'id="root"' in await answer.text()
            assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert answer.headers["Cache-Control"] == "no-cache"
    async with served.get("/debug/assets/app-1.js") as answer:
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.content_type == "text/javascript"
        assert await answer.read() == script
    for path in ("..%2fsecret.txt", "%2e%2e/secret.txt", "..%5csecret.txt", "app-1.js%00", "app-1.js.gz", "x"):
        async with served.get(f"/debug/assets/{path}") as answer:
            assert answer.status in (400, 404), path
            assert "secret" not in await answer.text()
    async with served.get("/debug", Host="<b>.example", Accept="text/html") as answer:
        assert answer.status == 403
        assert answer.content_type == "text/html"
        assert "<b>" not in await answer.text()
    async with served.get("/debug/nothing", Accept="text/html") as answer:
        assert (answer.status, answer.content_type) == (404, "text/html")


class _Crashing:
    name = "gcs"

    def __init__(self) -> None:
        self.starts = 0

    async def run(self, store: Store) -> None:
        self.starts += 1
        raise RuntimeError("no GCS")


async def test_a_source_that_crashes_is_shown_and_started_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _Crashing()
    served = await serve(sources=[source])
    for _ in range(100):
        if source.starts > 1:
            break
        await asyncio.sleep(0.02)
    assert source.starts > 1
    state = served.store.table("sources")["gcs"]
    assert isinstance(state, SourceState)
    assert not state.ok
    assert "no GCS" in (state.note or "")
