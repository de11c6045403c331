"""Patches for everybody who watches.

Several times a second, for each topic that changed: one patch, encoded once for each sight that viewers are
limited to, written to all who are up to date. A viewer whose socket hasn't drained is passed over, and later gets one
full patch; nothing is ever queued for it, so it costs the others nothing and memory is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from raydebug.api.stream import Patch, Topic
from raydebug.hub.model.store import Store, Table, diff
from raydebug.hub.model.views import Sight, visible
from raydebug.hub.stream.frames import Frame, frame_for_many

logger = logging.getLogger(__name__)

PERIOD_S: Final = 0.075
"""The least time between two patches of a topic. A change after a quiet time goes out at once."""
URGENT: Final[frozenset[Topic]] = frozenset({"debug"})
"""Somebody steps there: these go out as they come, whatever else was just sent."""
URGENT_PERIOD_S: Final = 0.01
_AFTER_FAILURE_S: Final = 1.0


class Viewer(Protocol):
    """A connection, as the publisher sees it. It compares by identity."""

    @property
    def sight(self) -> Sight: ...
    @property
    def deflate(self) -> bool: ...
    def ready(self) -> bool:
        """Whether its socket has drained."""
        ...

    def send(self, frame: Frame) -> None: ...


@dataclass(eq=False)
class _Watch:
    """One subscription. ``version``: of the last patch that was written; None: needs a full one."""

    viewer: Viewer
    version: int | None = None
    fell_behind: bool = False


@dataclass(eq=False)
class _Channel:
    """What all viewers with the same sight see of a topic."""

    topic: Topic
    sight: Sight
    watches: dict[Viewer, _Watch] = field(default_factory=dict)
    version: int = -1
    tables: Mapping[str, Table] = field(default_factory=dict)
    whole: tuple[int, bool, Frame] | None = None
    seen: dict[str, tuple[Table, Table]] = field(default_factory=dict)

    def visible(self, tables: Mapping[str, Table]) -> dict[str, Table]:
        """The tables as these viewers see them; the same objects for tables that didn't change."""
        for name, table in tables.items():
            before = self.seen.get(name)
            if before is None or before[0] is not table:
                self.seen[name] = (table, visible(name, table, self.sight))
        return {name: self.seen[name][1] for name in tables}


@dataclass
class Counts:
    """Facts for the metrics. ``skipped``: times a viewer was passed over because its socket hadn't drained."""

    patches: int = 0
    full_patches: int = 0
    skipped: int = 0
    resyncs: int = 0
    sent_bytes: int = 0
    encoded_bytes: int = 0


class Publisher:
    def __init__(self, store: Store, *, period_s: float = PERIOD_S, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._store = store
        self._period_s = period_s
        self._now_ns = now_ns
        self._channels: dict[tuple[Topic, Sight], _Channel] = {}
        self._wakes: dict[bool, asyncio.Event] = {False: asyncio.Event(), True: asyncio.Event()}
        self.counts = Counts()
        store.on_change(self._wake)

    def subscribe(self, viewer: Viewer, topic: Topic) -> None:
        """From now on ``viewer`` gets the topic, a full patch first (again, if it was subscribed before)."""
        key = (topic, viewer.sight)
        channel = self._channels.setdefault(key, _Channel(topic, viewer.sight))
        channel.watches[viewer] = _Watch(viewer)
        self._wake(topic)

    def unsubscribe(self, viewer: Viewer, topic: Topic) -> None:
        key = (topic, viewer.sight)
        channel = self._channels.get(key)
        if channel is not None:
            channel.watches.pop(viewer, None)
            if not channel.watches:
                del self._channels[key]

    def forget(self, viewer: Viewer) -> None:
        """The viewer is gone, or about to see other things."""
        for topic, sight in list(self._channels):
            if sight == viewer.sight:
                self.unsubscribe(viewer, topic)

    def _wake(self, topic: Topic) -> None:
        self._wakes[topic in URGENT].set()

    async def run(self) -> None:
        """Publish until cancelled."""
        urgent = min(self._period_s, URGENT_PERIOD_S)
        await asyncio.gather(self._run(False, self._period_s), self._run(True, urgent))

    async def _run(self, urgent: bool, period_s: float) -> None:
        wake = self._wakes[urgent]
        while True:
            await wake.wait()
            wake.clear()
            try:
                waiting = await self.publish(urgent)
            except Exception:
                logger.exception("a patch failed; its viewers get a full one")
                for channel in self._of(urgent):
                    channel.version = -1
                waiting = True
                await asyncio.sleep(_AFTER_FAILURE_S)
            await asyncio.sleep(PERIOD_S if waiting else period_s)
            if waiting:
                wake.set()

    def _of(self, urgent: bool | None) -> list[_Channel]:
        return [one for one in self._channels.values() if urgent is None or (one.topic in URGENT) == urgent]

    async def publish(self, urgent: bool | None = None) -> bool:
        """One round; None: of all topics. True while somebody waits for its socket to drain."""
        waiting = False
        for channel in self._of(urgent):
            waiting |= await self._publish(channel)
        return waiting

    async def _publish(self, channel: _Channel) -> bool:
        version = self._store.version(channel.topic)
        change: Frame | None = None
        before = channel.version
        if version != before:
            tables = channel.visible(self._store.topic_tables(channel.topic))
            if before >= 0 and any(watch.version == before for watch in channel.watches.values()):
                changed = diff(channel.tables, tables)
                if any(getattr(changed, name) is not None for name in changed.__struct_fields__):
                    change = await self._frame(
                        channel,
                        Patch(topic=channel.topic, version=version, full=False, time_ns=self._now_ns(), tables=changed),
                    )
                    self.counts.patches += 1
            channel.version, channel.tables = version, tables
        waiting = False
        for watch in list(channel.watches.values()):
            if watch.version == version:
                continue
            if not watch.viewer.ready():
                self.counts.skipped += 1
                watch.fell_behind |= watch.version is not None
                watch.version = None
                waiting = True
                continue
            if watch.version is not None and watch.version == before:
                if change is not None:
                    self._send(watch, change)
            else:
                self._send(watch, await self._full(channel))
                self.counts.resyncs += watch.fell_behind
                watch.fell_behind = False
            watch.version = version
        return waiting

    def _send(self, watch: _Watch, frame: Frame) -> None:
        self.counts.sent_bytes += len(frame.bytes_for(watch.viewer.deflate))
        watch.viewer.send(frame)

    async def _full(self, channel: _Channel) -> Frame:
        deflate = any(viewer.deflate for viewer in channel.watches)
        if channel.whole is None or channel.whole[0] != channel.version or deflate > channel.whole[1]:
            patch = Patch(
                topic=channel.topic,
                version=channel.version,
                full=True,
                time_ns=self._now_ns(),
                tables=diff({}, channel.tables),
            )
            channel.whole = (channel.version, deflate, await self._frame(channel, patch))
            self.counts.full_patches += 1
        return channel.whole[2]

    async def _frame(self, channel: _Channel, patch: Patch) -> Frame:
        made = await frame_for_many(patch, deflate=any(viewer.deflate for viewer in channel.watches))
        self.counts.encoded_bytes += len(made.plain)
        return made
