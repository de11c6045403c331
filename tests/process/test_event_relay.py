"""Task events from Ray's agent through a real helper process to the hub: nothing lost unseen, nothing without
bounds."""

from __future__ import annotations

import asyncio
import contextlib
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from raydebug.api.helper import Events
from raydebug.helper import events as relay_module
from raydebug.helper.events import EventRelay
from raydebug.hub.nodes.dial import NodeAddress
from raydebug.hub.sources.helpers import Helpers
from raydebug.plugin import tee as tee_module
from raydebug.plugin.tee import Tee
from tests.process.test_helpers import NODE, SECRET, secret, until
from tests.support.plugin import helper_process, small_agent


class Request:
    """As Ray's aggregator gets it."""

    def __init__(self, data: bytes, events: int = 1) -> None:
        self.events_data = SimpleNamespace(events=[None] * events)
        self._data = data

    def SerializeToString(self) -> bytes:  # noqa: N802
        return self._data


class Hub:
    """A hub's side: keeps what came, acknowledges if it is told to."""

    def __init__(self, url: str, acks: bool = True) -> None:
        self.url = url
        self.acks = acks
        self.got: list[Events] = []
        self.helpers = Helpers(secret, on_events=self._came)

    def _came(self, node_id: str, events: Events) -> None:
        self.got.append(events)
        if self.acks and events.data:
            self._ack = asyncio.ensure_future(
                self.helpers.ack_events(node_id, events.epoch, events.first + len(events.data) - 1)
            )

    @property
    def data(self) -> list[bytes]:
        return [one for events in self.got for one in events.data]

    @contextlib.asynccontextmanager
    async def up(self) -> AsyncIterator[Hub]:
        await self.helpers.sync([NodeAddress(NODE, self.url)])
        try:
            yield self
        finally:
            await self.helpers.close()


@contextlib.asynccontextmanager
async def teeing(tee: Tee, path: Path, problem: str | None = None) -> AsyncIterator[None]:
    task = asyncio.ensure_future(tee.run(str(path), problem))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_all_comes_in_order_and_a_new_hub_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    socket, events = tmp_path / "h.sock", tmp_path / "e.sock"
    tee = Tee()
    async with small_agent(socket) as url:
        with helper_process(socket, node_id=NODE, secret=SECRET, events_socket=str(events)):
            assert stat.S_IMODE(events.stat().st_mode) == 0o600
            async with teeing(tee, events):
                for number in range(500):
                    tee.take(Request(b"%d" % number))
                first = Hub(url)
                async with first.up():
                    await until(lambda: len(first.data) == 500)
                assert first.data == [b"%d" % number for number in range(500)]
                assert next(e.first for e in first.got if e.data) == 1
                assert first.got[-1].problem is None
                # A hub that is new knows nothing, and gets what nobody has acknowledged.
                for number in range(500, 700):
                    tee.take(Request(b"%d" % number))
                second = Hub(url)
                async with second.up():
                    await until(lambda: len(second.data) >= 200)
                    assert second.data[-200:] == [b"%d" % number for number in range(500, 700)]


async def test_a_hub_that_acknowledges_nothing_gets_a_window_and_no_more(tmp_path: Path) -> None:
    socket, events = tmp_path / "h.sock", tmp_path / "e.sock"
    tee = Tee()
    async with small_agent(socket) as url:
        with helper_process(socket, node_id=NODE, secret=SECRET, events_socket=str(events)):
            async with teeing(tee, events):
                for _ in range(30):
                    tee.take(Request(b"x" * (1 << 20)))
                lazy = Hub(url, acks=False)
                async with lazy.up():
                    await until(lambda: sum(map(len, lazy.data)) >= relay_module.WINDOW)
                    await asyncio.sleep(0.3)
                    assert sum(map(len, lazy.data)) <= relay_module.WINDOW + (2 << 20)
                diligent = Hub(url)
                async with diligent.up():
                    await until(lambda: len(diligent.data) == 30)


async def test_a_helper_that_was_killed_is_given_what_comes_after(tmp_path: Path) -> None:
    socket, events = tmp_path / "h.sock", tmp_path / "e.sock"
    tee = Tee()
    async with small_agent(socket) as url, teeing(tee, events):
        hub = Hub(url)
        async with hub.up():
            with helper_process(socket, node_id=NODE, secret=SECRET, events_socket=str(events)) as child:
                tee.take(Request(b"before"))
                await until(lambda: b"before" in hub.data)
                child.kill()
                child.wait()
            tee.take(Request(b"meanwhile"))
            socket.unlink(missing_ok=True)
            with helper_process(socket, node_id=NODE, secret=SECRET, events_socket=str(events)):
                await until(lambda: b"meanwhile" in hub.data, timeout=60)
        assert len({e.epoch for e in hub.got}) == 2


async def test_why_nothing_comes_is_told(tmp_path: Path) -> None:
    socket, events = tmp_path / "h.sock", tmp_path / "e.sock"
    async with small_agent(socket) as url:
        with helper_process(socket, node_id=NODE, secret=SECRET, events_socket=str(events)):
            hub = Hub(url)
            async with hub.up():
                await until(lambda: bool(hub.got))
                assert "not connected" in (hub.got[-1].problem or "")
                async with teeing(Tee(), events, "Ray 2.41.0 has no event aggregator"):
                    await until(lambda: hub.got[-1].problem == "Ray 2.41.0 has no event aggregator")


async def test_garbage_on_the_socket_does_no_harm(tmp_path: Path) -> None:
    socket, events = tmp_path / "h.sock", tmp_path / "e.sock"
    async with small_agent(socket) as url:
        with helper_process(socket, node_id=NODE, secret=SECRET, events_socket=str(events)) as child:
            for garbage in (b"\n", b"[]\n", b"{}\n" + b"\xff" * 16, b"\xff" * 3_000_000, b'{"problem": null}\n\x00'):
                _, writer = await asyncio.open_unix_connection(str(events))
                writer.write(garbage)
                with contextlib.suppress(ConnectionError):
                    await writer.drain()
                writer.close()
            tee, hub = Tee(), Hub(url)
            async with teeing(tee, events), hub.up():
                tee.take(Request(b"well"))
                await until(lambda: b"well" in hub.data)
            assert child.poll() is None


def test_the_tee_is_bounded_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tee = Tee(limit=1000)
    for _ in range(5):
        tee.take(Request(b"x" * 300, events=7))
    assert tee.dropped == 2 * 7
    monkeypatch.setattr(tee_module, "REQUEST_BYTES", 100)
    tee = Tee()
    tee.take(Request(b"x" * 300, events=7))
    assert tee.dropped == 7


async def test_the_helper_is_bounded_and_counts() -> None:
    relay = EventRelay(limit=1000)
    for _ in range(5):
        relay._take(7, b"x" * 300)
    assert relay.dropped_helper == 2 * 7
    got: list[Any] = []

    async def send(events: Events) -> None:
        got.append(events)

    relay.wanted("", 0, send)
    await until(lambda: bool(got))
    relay.acked(relay.epoch, 3)
    relay._take(7, b"y" * 300)
    await until(lambda: len(got) == 2)
    # Numbers 4 and 5 never come: the hub sees that they are missing.
    assert (got[0].first, len(got[0].data), got[1].first) == (1, 3, 6)
    relay.unwanted()
