"""Tokens, grants, hosts, the audit log: files and pure functions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from raydebug.api.access import GrantRequest
from raydebug.hub.access.audit import AuditLog
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.errors import AccessError
from raydebug.hub.access.grants import GrantBook
from raydebug.hub.access.hosts import host_allowed, origin_matches, parse_patterns, split_host
from raydebug.hub.access.token import TokenFile, TokenFixedError, read_token, rotate

OWNER = Caller(role="debugger", how="token", peer="1.2.3.4")


class Clock:
    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def __call__(self) -> int:
        return self.ns


def _holder(book: GrantBook, token: str) -> Caller:
    record = book.find(token)
    assert record is not None
    grant = record.grant
    jobs = None if grant.jobs is None else frozenset(grant.jobs)
    return Caller(
        role=grant.role,
        how="grant",
        peer="",
        name=grant.name,
        jobs=jobs,
        grant_id=grant.grant_id,
        expires_ns=grant.expires_ns,
    )


def test_token_file_is_private_and_stays(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        token = TokenFile(tmp_path)
    finally:
        os.umask(before)
    assert token.path.stat().st_mode & 0o777 == 0o600
    assert token.path.parent.stat().st_mode & 0o777 == 0o700
    value = read_token(token.path)
    assert len(value) == 43
    assert token.matches(value)
    assert not token.matches("")
    assert not token.matches(value + "x")
    assert TokenFile(tmp_path).matches(value)
    new = rotate(token.path)
    assert token.matches(new)
    assert not token.matches(value)
    token.path.unlink()
    assert not token.matches(new)
    assert not token.matches("")


def test_a_linked_token_file_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("known\n")
    token = TokenFile(tmp_path)
    token.path.unlink()
    token.path.symlink_to(elsewhere)
    assert not token.matches("known")


def test_token_from_the_environment(tmp_path: Path) -> None:
    token = TokenFile(tmp_path, "mine")
    assert token.matches("mine")
    assert read_token(token.path) == "mine"
    with pytest.raises(TokenFixedError):
        rotate(token.path)
    own = TokenFile(tmp_path)  # started without it: what was set before is no longer right
    assert not own.matches("mine")


def test_grants_survive_and_end(tmp_path: Path) -> None:
    clock = Clock()
    book = GrantBook(tmp_path, clock)
    grant, token = book.make(OWNER, GrantRequest(role="viewer", name="Ann\n", expires_s=10))
    assert grant.name == "Ann"
    assert token not in (tmp_path / "raydebug" / "grants.json").read_text()
    again = GrantBook(tmp_path, clock)
    record = again.find(token)
    assert record is not None
    assert record.grant == grant
    assert again.find("x" * 43) is None
    clock.ns += 10_000_000_000
    assert not again.live(grant.grant_id)
    assert again.listed(OWNER) == []
    other, _ = again.make(OWNER, GrantRequest(role="viewer", name="Bob"))
    assert book.live(other.grant_id)  # the other hub sees it
    book.revoke(OWNER, other.grant_id)
    assert not again.live(other.grant_id)


def test_a_grant_never_exceeds_its_makers(tmp_path: Path) -> None:
    book = GrantBook(tmp_path, Clock())
    _, token = book.make(OWNER, GrantRequest(role="debugger", name="d", jobs=["01", "02"], expires_s=100))
    holder = _holder(book, token)
    made, child = book.make(holder, GrantRequest(role="debugger", name="c"))
    assert made.jobs == ["01", "02"]
    assert made.expires_ns == holder.expires_ns
    for request in (
        GrantRequest(role="viewer", name="x", jobs=["03"]),
        GrantRequest(role="viewer", name="x", expires_s=101),
    ):
        with pytest.raises(AccessError, match="maker"):
            book.make(holder, request)
    viewer = Caller(role="viewer", how="grant", peer="")
    with pytest.raises(AccessError):
        book.make(viewer, GrantRequest(role="debugger", name="x"))
    # its holder sees and ends only what came from it
    foreign, _ = book.make(OWNER, GrantRequest(role="viewer", name="f"))
    grandchild, _ = book.make(_holder(book, child), GrantRequest(role="viewer", name="gc"))
    assert {grant.name for grant in book.listed(holder)} == {"c", "gc"}
    with pytest.raises(AccessError):
        book.revoke(holder, foreign.grant_id)
    assert holder.grant_id is not None
    book.revoke(OWNER, holder.grant_id)
    assert not book.live(grandchild.grant_id)
    assert book.live(foreign.grant_id)


def test_a_broken_grants_file_gives_no_rights(tmp_path: Path) -> None:
    book = GrantBook(tmp_path, Clock())
    _, token = book.make(OWNER, GrantRequest(role="debugger", name="d"))
    (tmp_path / "raydebug" / "grants.json").write_text("[{")
    assert book.find(token) is None


def test_audit_log_is_bounded_and_counts_floods(tmp_path: Path) -> None:
    clock = Clock()
    log = AuditLog(tmp_path, max_bytes=2000, keep=2, now_ns=clock)
    for _ in range(50):
        log.refused("1.2.3.4", "topology", "wrong_token")
    clock.ns += 60_000_000_000
    log.refused("1.2.3.4", "topology", "wrong_token")
    events = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert [event["event"] for event in events] == ["refused"] * 10 + ["refused_more", "refused"]
    assert events[10]["count"] == 40
    for number in range(100):
        log.write("grant", OWNER, grant_id=str(number))
    parts = sorted(path.name for path in log.path.parent.glob("audit*"))
    assert parts == ["audit.log", "audit.log.1", "audit.log.2"]
    assert all(path.stat().st_size <= 2000 for path in log.path.parent.glob("audit*"))


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1", True),
        ("10.0.0.1:8265", True),
        ("[fd00::1]:8265", True),
        ("localhost.", True),
        ("head:8265", True),
        ("a.example.org", True),
        ("example.org", False),
        ("evilexample.org", False),
        ("2130706433", False),
        ("0x7f.1", False),
        ("", False),
        ("[::1", False),
        ("a b", False),
        ("localhost:99999999", False),
        ("localhost\n", False),
    ],
)
def test_hosts(host: str, allowed: bool) -> None:
    assert host_allowed(host, {"head"}, parse_patterns(" *.Example.org:80, ,")) == allowed


def test_origins() -> None:
    assert origin_matches("http://a:8265", "A:8265")
    assert origin_matches("https://a", "a:443")
    assert origin_matches("http://[::1]:80", "[::1]")
    for origin in ("http://b:8265", "http://a", "http://a:82650", "null", "", "a:8265", "http://u@a:8265", "http://["):
        assert not origin_matches(origin, "a:8265"), origin
    assert split_host("a:b") is None
