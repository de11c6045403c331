"""Who may do what: every route and every message, for every kind of caller, in every mode.

``RIGHTS`` is written out by hand from the design. A route or a message that isn't in it fails the test.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from raydebug.api import stream
from raydebug.api.access import GrantRequest
from raydebug.api.names import ROUTE_HEADER, TOKEN_HEADER
from raydebug.hub.access import rules
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.gate import Access
from raydebug.hub.http.routes import routes
from tests.unit.hub.conftest import Live, Serve, Served

A, V, D = "anonymous", "viewer", "debugger"

RIGHTS = {
    # route: the least role
    "GET /debug": A,
    "GET /debug/": A,
    "GET /debug/assets/{name:.+}": A,
    "GET /debug/ws": A,
    "GET /debug/api/v1/health": A,
    "GET /debug/api/v1/whoami": A,
    "GET /debug/api/v1/topology": A,
    "GET /debug/api/v1/paused": A,
    "GET /debug/api/v1/tasks": A,
    "GET /debug/api/v1/timeline": A,
    "GET /debug/api/v1/grants": D,
    "POST /debug/api/v1/grants": D,
    "DELETE /debug/api/v1/grants/{grant_id}": D,
    "GET /debug/api/v1/metrics": A,
    "GET /debug/api/v1/openapi.json": A,
    "GET /debug/api/v1/doctor": V,
    # message: the least role
    "hello": A,
    "subscribe": A,
    "unsubscribe": A,
    "ping": A,
    "query_timeline": A,
    "query_tasks": A,
    **{f"debug {command}": D for command in sorted(set(rules.COMMANDS) - {"source"})},
    "debug source": V,
    "make_grant": D,
    "list_grants": D,
    "revoke_grant": D,
    # topic: the least role
    "topic topology": A,
    "topic paused": A,
    "topic timeline": A,
    "topic debug": V,
}

SHELL = {"GET /debug", "GET /debug/", "GET /debug/assets/{name:.+}"}

# What a caller shows -> the role it has with Ray's token mode off, with Ray's token, and where RAYDEBUG_OPEN=1;
# None: refused everywhere.
CALLERS: dict[str, tuple[str | None, str | None, str | None]] = {
    "nothing": (A, D, D),
    "wrong token": (None, None, None),
    "viewer grant": (V, V, V),
    "debugger grant": (D, D, D),
    "expired grant": (None, None, None),
    "revoked grant": (None, None, None),
    "raydebug's token": (D, D, D),
}

RANK = {A: 0, V: 1, D: 2}

SAMPLES: dict[str, msgspec.Struct] = {
    "hello": stream.Hello(protocol=1),
    "subscribe": stream.Subscribe(topic="topology"),
    "unsubscribe": stream.Unsubscribe(topic="topology"),
    "ping": stream.Ping(t=1.0),
    "query_timeline": stream.QueryTimeline(id=1, job_id="01000000", lanes=[], from_ns=1, to_ns=2, pixels=10),
    "query_tasks": stream.QueryTasks(id=1, job_id=None),
    **{f"debug {command}": stream.Debug(id=1, worker_id="none", command=command) for command in sorted(rules.COMMANDS)},
    "make_grant": stream.MakeGrant(id=1, grant=GrantRequest(role="viewer", name="x")),
    "list_grants": stream.ListGrants(id=1),
    "revoke_grant": stream.RevokeGrant(id=1, grant_id="none"),
}


def _tag(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


def _concrete(path: str) -> str:
    return path.replace("{name:.+}", "app.js").replace("{grant_id}", "none")


@pytest.fixture
def static(tmp_path: Path) -> Path:
    (tmp_path / "static" / "assets").mkdir(parents=True)
    (tmp_path / "static" / "index.html").write_text("<div id=root></div>")
    (tmp_path / "static" / "assets" / "app.js").write_text("1")
    return tmp_path / "static"


def _tokens(access: Access, own: str) -> dict[str, str | None]:
    maker = Caller(role="debugger", how="token", peer="test")

    def grant(role: Any, seconds: float | None = None) -> tuple[str, str]:
        made = access.make_grant(maker, GrantRequest(role=role, name="g", expires_s=seconds), "")
        return made.token, made.grant.grant_id

    revoked, revoked_id = grant("viewer")
    access.revoke_grant(maker, revoked_id)
    expired, _ = grant("debugger", 0.001)
    time.sleep(0.01)
    return {
        "nothing": None,
        "wrong token": "w" * 43,
        "viewer grant": grant("viewer")[0],
        "debugger grant": grant("debugger")[0],
        "expired grant": expired,
        "revoked grant": revoked,
        "raydebug's token": own,
    }


def test_everything_is_in_the_matrix(tmp_path: Path) -> None:
    class Everything:
        doctor = staticmethod(lambda: None)

    known = {f"{route.method} {route.path}" for route in routes(Everything())}  # type: ignore[arg-type]
    known |= {_tag(kind) for kind in get_args(stream.ClientMessage)} - {"debug"}
    known |= {f"debug {command}" for command in rules.COMMANDS}
    known |= {f"topic {topic}" for topic in get_args(stream.Topic)}
    assert known == set(RIGHTS)
    assert set(rules.MESSAGES) == set(get_args(stream.ClientMessage))
    assert set(rules.TOPICS) == set(get_args(stream.Topic))
    assert set(rules.LEAST) == set(get_args(rules.Action))


MODES = ["off", "ray-auth", "open", "shell"]


def _role(caller: str, mode: str) -> str | None:
    off, ray, everybody = CALLERS[caller]
    return {"off": off, "ray-auth": ray, "open": everybody, "shell": off}[mode]


@pytest.mark.parametrize("way", ["header", "bearer"])
@pytest.mark.parametrize("mode", MODES)
async def test_routes(serve: Serve, static: Path, mode: str, way: str) -> None:
    served = await serve(everybody_debugger=mode == "open", static=static)
    tokens = _tokens(served.hub.access, served.token)
    for right, least in RIGHTS.items():
        method, _, path = right.partition(" ")
        if not path.startswith("/"):
            continue
        for caller, token in tokens.items():
            headers = {ROUTE_HEADER: {"off": "open", "open": "open"}.get(mode, mode)}
            if token is not None:
                headers |= {TOKEN_HEADER: token} if way == "header" else {"Authorization": f"Bearer {token}"}
            role = _role(caller, mode)
            if way == "bearer" and mode in ("ray-auth", "shell"):
                role = _role("nothing", mode)  # there it is Ray's own token, which isn't ours to judge
            allowed = role is not None and RANK[role] >= RANK[least] and (mode != "shell" or right in SHELL)
            before = len(served.hub.access.list_grants(Caller(role="debugger", how="token", peer="")).grants)
            body = msgspec.json.encode(GrantRequest(role="viewer", name="made")) if method == "POST" else None
            async with served.session.request(
                method, f"http://localhost{_concrete(path)}", headers=headers, data=body
            ) as answer:
                what = f"{right} as {caller} ({way}, {mode}): {answer.status}"
                if allowed:
                    assert answer.status not in (401, 403), what
                else:
                    assert answer.status == 403, what
                    assert set((await answer.json())["error"]) == {"code", "message", "hint"}
            after = len(served.hub.access.list_grants(Caller(role="debugger", how="token", peer="")).grants)
            assert after - before == (1 if allowed and method == "POST" else 0), what


@pytest.mark.parametrize("way", ["header", "hello"])
@pytest.mark.parametrize("mode", ["off", "ray-auth", "open"])
async def test_messages(serve: Serve, mode: str, way: str) -> None:
    served = await serve(everybody_debugger=mode == "open")
    for caller, token in _tokens(served.hub.access, served.token).items():
        role = _role(caller, mode)
        for tag, message in SAMPLES.items():
            least = RIGHTS[tag]
            allowed = role is not None and RANK[role] >= RANK[least]
            headers = {ROUTE_HEADER: {"off": "open"}.get(mode, mode)}
            if token is not None and way == "header":
                headers[TOKEN_HEADER] = token
                if role is None:
                    async with served.get("/debug/ws", **headers) as answer:
                        assert answer.status == 403
                    continue
            async with served.socket(token if way == "hello" else None, **headers) as live:
                if role is None:
                    await live.say(stream.Hello(protocol=1, token=token))
                    assert await live.refused() in ("wrong_token", "grant_expired", "grant_revoked")
                    continue
                assert (await live.greet()).role == role
                if tag != "hello":
                    assert await _allowed(live, message) == allowed, f"{tag} as {caller} ({way}, {mode})"


async def _allowed(live: Live, message: msgspec.Struct) -> bool:
    await live.say(message)
    answers: list[Any] = []
    if isinstance(message, stream.Debug):  # answered when it is done, not in turn
        while not isinstance(answer := await live.hear(), stream.Reply):
            pass
        answers.append(answer)
    await live.say(stream.Ping(t=2.0))
    while True:
        answer = await live.hear()
        if answer is None:
            return False
        if isinstance(answer, stream.Pong) and answer.t == 2.0:
            break
        answers.append(answer)
    replies = [answer for answer in answers if isinstance(answer, stream.Reply)]
    return all(reply.error is None or reply.error.code in ("unknown_grant", "unknown") for reply in replies)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Origin": "http://evil.example"}, "foreign_origin"),
        ({"Origin": "null"}, "foreign_origin"),
        ({"Origin": "http://localhost:1"}, "foreign_origin"),
        ({"Origin": "file://"}, "foreign_origin"),
        ({"Host": "evil.example"}, "unknown_host"),
        ({"Host": "localhost.evil.example:8265"}, "unknown_host"),
        ({"Host": "127.0.0.1.evil.example"}, "unknown_host"),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, "unknown_host"),
        ({"Host": "evil@localhost"}, "unknown_host"),
    ],
)
@pytest.mark.parametrize("mode", ["off", "ray-auth", "open"])
async def test_other_sites_are_refused_everywhere(serve: Serve, mode: str, headers: dict[str, str], code: str) -> None:
    served = await serve(everybody_debugger=mode == "open")
    maker = Caller(role="debugger", how="token", peer="")
    for right in RIGHTS:
        method, _, path = right.partition(" ")
        if not path.startswith("/"):
            continue
        body = msgspec.json.encode(GrantRequest(role="viewer", name="made")) if method == "POST" else None
        sent = {ROUTE_HEADER: {"off": "open"}.get(mode, mode), **headers}
        url = f"http://localhost{_concrete(path)}"
        async with served.session.request(method, url, headers=sent, data=body) as answer:
            assert answer.status == 403, right
            assert (await answer.json())["error"]["code"] == code
        if code == "foreign_origin":  # with our token, too
            sent[TOKEN_HEADER] = served.token
            async with served.session.request(method, url, headers=sent, data=body) as answer:
                assert answer.status == 403, right
    assert served.hub.access.list_grants(maker).grants == []


async def test_the_gateways_headers_count_on_its_socket_alone(served: Served) -> None:
    for value in ("ray-auth", "shell"):
        headers = {ROUTE_HEADER: value, "X-Forwarded-Host": "evil.example", "X-Raydebug-Peer": "1.2.3.4"}
        async with served.direct.get(f"{served.base}/debug/api/v1/whoami", headers=headers) as answer:
            assert await answer.json() == {"role": "anonymous", "how": "none", "name": None}


async def test_own_page_and_known_hosts(serve: Serve) -> None:
    served = await serve(allowed_hosts=("ray.example.org", "*.corp.example"))
    for host in ("10.1.2.3:8265", "[::1]:8265", "localhost", "ray.example.org:80", "a.corp.example", "LOCALHOST:1"):
        async with served.get("/debug/api/v1/health", Host=host, Origin=f"http://{host.lower()}") as answer:
            assert answer.status == 200, host
    async with served.get("/debug/api/v1/health", Host="corp.example") as answer:
        assert "RAYDEBUG_ALLOWED_HOSTS=corp.example" in (await answer.json())["error"]["hint"]
    # with a credential of ours the Host doesn't matter
    async with served.get("/debug/api/v1/health", Host="other.example", **{TOKEN_HEADER: served.token}) as answer:
        assert answer.status == 200
    forwarded = {"Host": "10.0.0.1", "X-Forwarded-Host": "ray.example.org", "Origin": "https://ray.example.org"}
    async with served.get("/debug/api/v1/health", **forwarded) as answer:
        assert answer.status == 200


async def test_revoking_and_rotating_end_live_sessions(served: Served) -> None:
    access = served.hub.access
    maker = Caller(role="debugger", how="token", peer="")
    made = access.make_grant(maker, GrantRequest(role="debugger", name="m"), "")
    expiring = access.make_grant(maker, GrantRequest(role="viewer", name="e", expires_s=1.0), "")
    async with (
        served.socket(made.token) as holder,
        served.socket(served.token) as owner,
        served.socket(expiring.token) as short,
        served.socket() as anonymous,
    ):
        for live in (holder, owner, short, anonymous):
            await live.greet()
        await holder.say(stream.MakeGrant(id=1, grant=GrantRequest(role="viewer", name="child")))
        reply = await holder.hear()
        assert isinstance(reply, stream.Reply)
        assert reply.made is not None
        async with served.socket(reply.made.token) as child:
            await child.greet()
            start = time.monotonic()
            await owner.say(stream.RevokeGrant(id=2, grant_id=made.grant.grant_id))
            assert await holder.refused() == "session_ended"
            assert await child.refused() == "session_ended"  # what was made with a grant ends with it
            assert time.monotonic() - start < 1
        answer = await owner.hear()
        assert isinstance(answer, stream.Reply)
        assert [grant.name for grant in answer.grants or []] == ["e"]
        assert await short.refused() == "session_ended"

        from raydebug.hub.access.token import rotate

        start = time.monotonic()
        rotate(served.hub.config.session_dir / "raydebug" / "token")
        assert await owner.refused() == "session_ended"
        assert time.monotonic() - start < 1
        async with served.get("/debug/api/v1/health", **{TOKEN_HEADER: served.token}) as refused:
            assert refused.status == 403
        await anonymous.say(stream.Ping(t=1.0))
        assert await anonymous.hear() == stream.Pong(t=1.0)
    await asyncio.sleep(0)
