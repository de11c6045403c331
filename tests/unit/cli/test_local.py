"""What the commands find out on the head itself."""

from __future__ import annotations

import os
import socket

import pytest

from raydebug.api.health import Health
from raydebug.cli import local
from raydebug.cli.client import Client, find_session

from .server import FakeDashboard


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_whose_socket_listens(family: socket.AddressFamily, address: str) -> None:
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("no IPv6 here")
    port = server.getsockname()[1]
    with server:
        assert local.listener_uids(port) == {os.geteuid()}
    assert local.listener_uids(port) == set()


@pytest.mark.parametrize(("uids", "found"), [({os.geteuid()}, True), ({os.geteuid(), 12345}, False), (set(), False)])
def test_another_users_server_is_shown_no_token(
    fake: FakeDashboard, monkeypatch: pytest.MonkeyPatch, tmp_path: object, uids: set[int], found: bool
) -> None:
    """It may pass the health of the real hub on, which everybody may read."""
    fake.hub()
    monkeypatch.setattr(local, "listener_uids", lambda port: uids)
    monkeypatch.setattr(local, "session_of", lambda health: tmp_path if isinstance(health, Health) else None)
    assert (find_session(Client(fake.url)) == tmp_path) is found
