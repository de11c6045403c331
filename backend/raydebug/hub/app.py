"""The composition root: makes the parts of a hub, starts them, stops them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final, Protocol

import msgspec
from aiohttp import web

import raydebug
from raydebug.api.health import Health, HubEndpoint
from raydebug.api.names import PROTOCOL
from raydebug.api.stream import Welcome
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.files import private_directory, write_private
from raydebug.hub.access.gate import Access
from raydebug.hub.access.hosts import own_names
from raydebug.hub.http import server
from raydebug.hub.http.call import Doctor, Services
from raydebug.hub.http.metrics import Metric
from raydebug.hub.http.static import StaticFiles
from raydebug.hub.model.store import Store
from raydebug.hub.model.timeline.timeline import TaskTimeline
from raydebug.hub.sockets import bind_private, remove_own
from raydebug.hub.stream.connection import Debugger
from raydebug.hub.stream.live import Live
from raydebug.hub.stream.publisher import Publisher
from raydebug.hub.supervisor import FactSource, supervise
from raydebug.hub.vitals import Vitals

logger = logging.getLogger(__name__)

ENDPOINT_FILE: Final = "hub.json"
"""In ``<session_dir>/raydebug/``: the endpoint, for the CLI on the head."""
_PUBLISH_AGAIN_S: Final = 5.0
_CLEANUP_S: Final = 2.0


@dataclass(frozen=True, kw_only=True)
class Config:
    """How a hub is started. At least one of ``socket`` and ``port`` is set. ``token``: RAYDEBUG_TOKEN, if set."""

    gcs_address: str
    session_dir: Path
    socket: Path | None = None
    host: str = "127.0.0.1"
    port: int | None = None
    dashboard_url: str | None = None
    everybody_debugger: bool = False
    allowed_hosts: tuple[str, ...] = ()
    token: str | None = None
    node_id: str | None = None
    static: Path = field(default=Path(raydebug.__file__).parent / "static")


class EndpointPublisher(Protocol):
    """Makes the hub known in the GCS KV (key ``names.KV_HUB``). May raise; it is tried again."""

    async def publish(self, endpoint: HubEndpoint) -> None: ...


class Hub:
    """All parts of one hub. ``start``, then ``wait`` or do else, then ``stop``."""

    def __init__(
        self,
        config: Config,
        store: Store | None = None,
        *,
        timeline: TaskTimeline | None = None,
        sources: Sequence[FactSource] = (),
        publisher: EndpointPublisher | None = None,
        doctor: Doctor | None = None,
        debugger: Callable[[Access], Debugger] | None = None,
    ) -> None:
        self.config = config
        self.store = store or Store()
        self.timeline = timeline or TaskTimeline(self.store)
        self._sources = sources
        self._endpoint_publisher = publisher
        self._start_ns = time.time_ns()
        self._hub_id = secrets.token_hex(8)
        self._ray_version = _ray_version()
        self.access = Access(
            config.session_dir,
            fixed_token=config.token,
            everybody_debugger=config.everybody_debugger,
            own_names=own_names(),
            allowed_hosts=config.allowed_hosts,
        )
        self.publisher = Publisher(self.store)
        self.live = Live(self.access, self.publisher, self._welcome, self.timeline, debugger and debugger(self.access))
        self._vitals = Vitals()
        self._services = Services(
            access=self.access,
            store=self.store,
            timeline=self.timeline,
            health=self._health,
            static=StaticFiles(config.static),
            stream=self.live.serve,
            metrics=self._metrics,
            now_ns=time.time_ns,
            doctor=doctor,
        )
        self._runners: list[web.AppRunner] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._inode: int | None = None
        self.port: int | None = None

    async def start(self) -> None:
        """Serve. Raises OSError if a listener can't be had."""
        config = self.config
        if config.socket is not None:
            listener = bind_private(config.socket)
            self._inode = os.lstat(config.socket).st_ino
            await web.SockSite(await self._runner(trusted=True), listener).start()
        if config.port is not None:
            runner = await self._runner(trusted=False)
            await web.TCPSite(runner, config.host, config.port).start()
            self.port = int(runner.addresses[0][1])
        jobs = [self.publisher.run(), self.live.run(), self._vitals.run(), self._publish_endpoint()]
        jobs += [supervise(source, self.store) for source in self._sources]
        self._tasks = [asyncio.create_task(job) for job in jobs]
        self._write_endpoint()

    async def stop(self) -> None:
        """Say goodbye to the viewers and end all that was started."""
        await self.live.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for runner in self._runners:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(runner.cleanup(), _CLEANUP_S)
        if self.config.socket is not None and self._inode is not None:
            remove_own(self.config.socket, self._inode)

    def endpoint(self) -> HubEndpoint:
        config = self.config
        url = config.dashboard_url
        if url is None and self.port is not None:
            url = f"http://{f'[{config.host}]' if ':' in config.host else config.host}:{self.port}"
        return HubEndpoint(
            url=url,
            socket=str(config.socket or ""),
            protocol=PROTOCOL,
            version=raydebug.__version__,
            pid=os.getpid(),
            node_id=config.node_id,
            start_ns=self._start_ns,
        )

    def _write_endpoint(self) -> None:
        """Tell the CLI on the head. A second hub of the same session leaves the first one's file alone."""
        path = private_directory(self.config.session_dir) / ENDPOINT_FILE
        if self.config.socket is None:
            with contextlib.suppress(OSError, msgspec.DecodeError):
                os.kill(msgspec.json.decode(path.read_bytes(), type=HubEndpoint).pid, 0)
                return
        write_private(path, msgspec.json.encode(self.endpoint()))

    async def _runner(self, *, trusted: bool) -> web.AppRunner:
        app = server.build(self._services, trusted=trusted)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        self._runners.append(runner)
        return runner

    async def _publish_endpoint(self) -> None:
        if self._endpoint_publisher is None:
            return
        while True:
            try:
                await self._endpoint_publisher.publish(self.endpoint())
                return
            except Exception as error:
                logger.warning("the hub's address can't be published in the GCS (tried again): %s", error)
                await asyncio.sleep(_PUBLISH_AGAIN_S)

    def _health(self) -> Health:
        sources = self.store.table("sources").values()
        return Health(
            status="ok" if all(getattr(row, "ok", True) for row in sources) else "degraded",
            version=raydebug.__version__,
            protocol=PROTOCOL,
            ray_version=self._ray_version,
            python_version=sys.version.split()[0],
            pid=os.getpid(),
            start_ns=self._start_ns,
            auth="off",
        )

    def _welcome(self, caller: Caller) -> Welcome:
        return Welcome(
            protocol=PROTOCOL,
            version=raydebug.__version__,
            ray_version=self._ray_version,
            role=caller.role,
            how=caller.how,
            hub_id=self._hub_id,
            session_name=self.config.session_dir.resolve().name,
            time_ns=time.time_ns(),
        )

    def _metrics(self) -> list[Metric]:
        counts = self.publisher.counts
        return [
            Metric("connections", "gauge", "Live websockets.", self.live.connections),
            Metric("patches_total", "counter", "Patches encoded; each goes to many viewers.", counts.patches),
            Metric("full_patches_total", "counter", "Full patches encoded.", counts.full_patches),
            Metric("resyncs_total", "counter", "Viewers that fell behind and got a full patch.", counts.resyncs),
            Metric("skipped_total", "counter", "Times a viewer's socket hadn't drained.", counts.skipped),
            Metric("encoded_bytes_total", "counter", "Bytes of patches encoded.", counts.encoded_bytes),
            Metric("sent_bytes_total", "counter", "Bytes of patches written to viewers.", counts.sent_bytes),
            Metric("refused_total", "counter", "Refused requests and messages.", self.access.audit.refused_total),
            Metric("task_attempts", "gauge", "Attempts of tasks held.", self.timeline.held),
            Metric("task_bytes", "gauge", "Bytes of their columns.", self.timeline.bytes),
            *self._vitals.metrics(),
            *(
                Metric("source_ok", "gauge", "Whether a source of facts is well.", float(row.ok), {"source": row.name})
                for row in self.store.table("sources").values()
                if hasattr(row, "ok") and hasattr(row, "name")
            ),
        ]


def _ray_version() -> str:
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("ray")
    return "unknown"
