from __future__ import annotations

import json

import pytest

from raydebug.plugin import down, headers

RAW = [
    (b"Host", b"head:8265"),
    (b"X-Raydebug-Peer", b"10.0.0.9"),
    (b"x-raydebug-ROUTE", b"ray-auth"),
    (b"X_Raydebug_Route", b"ray-auth"),
    (b"X-Raydebug-Token", b"secret"),
    (b"X-Forwarded-For", b"1.2.3.4"),
    (b"X-Forwarded-Proto", b"https"),
    (b"X-Forwarded-User", b"root"),
    (b"Forwarded", b"for=1.2.3.4"),
    (b"X-Real-IP", b"1.2.3.4"),
    (b"Connection", b"keep-alive, X-Secret-Hop"),
    (b"X-Secret-Hop", b"1"),
    (b"Transfer-Encoding", b"chunked"),
    (b"Cookie", b"a=b"),
]


def as_dict(pairs: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return {n.decode().lower(): v.decode() for n, v in pairs}


def test_what_a_client_claims_about_itself_does_not_pass() -> None:
    got = as_dict(headers.to_hub(RAW, peer="192.0.2.7", route="open", trusted=False))
    assert got == {
        "host": "head:8265",
        "x-raydebug-token": "secret",
        "cookie": "a=b",
        "x-raydebug-peer": "192.0.2.7",
        "x-raydebug-route": "open",
    }


def test_a_trusted_proxy_may_say_whom_it_speaks_for() -> None:
    got = as_dict(headers.to_hub(RAW, peer="10.1.2.3", route="shell", trusted=True))
    assert got["x-forwarded-for"] == "1.2.3.4"
    assert got["x-forwarded-proto"] == "https"
    assert "x-forwarded-user" not in got
    assert got["x-raydebug-peer"] == "10.1.2.3"
    assert got["x-raydebug-route"] == "shell"


@pytest.mark.parametrize(
    ("peer", "trusted"),
    [("10.0.3.4", True), ("::ffff:10.0.3.4", True), ("11.0.0.1", False), ("fe80::1%eth0", False), ("", False)],
)
def test_trusted_proxies(peer: str, trusted: bool) -> None:
    assert headers.is_trusted(peer, headers.parse_proxies("10.0.0.0/8, 192.0.2.1")) is trusted


@pytest.mark.parametrize(
    ("path", "public"),
    [
        ("/debug", True),
        ("/debug/", False),
        ("/debug/assets/app.js", True),
        ("/debug/assets", False),
        ("/debug/api/v1/health", False),
        ("/debugger", False),
    ],
)
def test_public_paths(path: str, public: bool) -> None:
    assert headers.is_public(path) is public


@pytest.mark.parametrize(
    "path", ["/debug/assets/../api/v1/stacks", "/debug/./x", "/debug/assets/..\\api", "/debug/a\nb"]
)
def test_paths_that_servers_may_understand_differently(path: str) -> None:
    assert not headers.is_plain(path)


def test_plain_paths() -> None:
    assert headers.is_plain("/debug/api/v1/tasks")
    assert headers.is_plain("/debug/assets/a..b.js")


def state(**changes: object) -> down.Down:
    given = {
        "failing": True,
        "crashes": 5,
        "last_exit": "exit status 7",
        "retry_in_s": 60.0,
        "log_path": "/l",
        "log": None,
    }
    return down.Down(**{**given, **changes})  # type: ignore[arg-type]


def test_page_of_a_dead_hub_escapes_its_log() -> None:
    page = down.as_html(state(log="<script>alert(1)</script>", reason="<i>"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<i>" not in page
    assert "5 times in a row (last: exit status 7)" in page


def test_page_of_a_dead_hub_without_its_log() -> None:
    assert "<pre>" not in down.as_html(state())


def test_json_of_a_dead_hub() -> None:
    error = json.loads(down.as_json(state(failing=False, crashes=0, retry_in_s=None)))["error"]
    assert error["code"] == "hub_down"
    assert "starting" in error["message"]
    assert error["hint"]
