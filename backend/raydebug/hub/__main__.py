"""``python -m raydebug.hub``: the hub as a process of its own, as the gateway and ``raydebug serve`` start it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Final

from raydebug.hub.access.files import private_directory
from raydebug.hub.access.hosts import parse_patterns
from raydebug.hub.app import Config, Hub
from raydebug.hub.compose import RealCluster
from raydebug.hub.model.store import Store

logger = logging.getLogger("raydebug.hub")

_OOM_SCORE_ADJ: Final = "500"
_LAST_RESORT_S: Final = 5.0
_TOKEN: Final = re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])")


class _Redacting(logging.Formatter):
    """No line of the log holds anything that looks like one of our tokens."""

    def format(self, record: logging.LogRecord) -> str:
        return _TOKEN.sub("<redacted>", super().format(record))


def parse(arguments: list[str] | None = None) -> tuple[Config, bool, str]:
    """The configuration, whether to watch stdin, and the log level."""
    parser = argparse.ArgumentParser(prog="python -m raydebug.hub", description=__doc__)
    parser.add_argument("--gcs-address", required=True, metavar="HOST:PORT")
    parser.add_argument("--session-dir", required=True, type=Path, metavar="DIR")
    parser.add_argument("--socket", type=Path, metavar="PATH", help="serve the gateway here, mode 0600")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, help="serve browsers here directly")
    parser.add_argument("--dashboard-url", metavar="URL", help="where /debug is served, for links")
    parser.add_argument("--node-id", metavar="HEX")
    parser.add_argument("--watch-stdin", action="store_true", help="end when stdin ends")
    parser.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])
    given = parser.parse_args(arguments)
    if given.socket is None and given.port is None:
        parser.error("one of --socket and --port is needed")
    # Out of the environment at once: nothing this process starts needs to know the token.
    token = os.environ.pop("RAYDEBUG_TOKEN", "").strip() or None
    config = Config(
        gcs_address=given.gcs_address,
        session_dir=given.session_dir,
        socket=given.socket,
        host=given.host,
        port=given.port,
        dashboard_url=given.dashboard_url,
        everybody_debugger=os.environ.get("RAYDEBUG_OPEN") == "1",
        allowed_hosts=parse_patterns(os.environ.get("RAYDEBUG_ALLOWED_HOSTS", "")),
        token=token,
        node_id=given.node_id,
    )
    return config, given.watch_stdin, given.log_level


async def serve(config: Config, *, watch_stdin: bool) -> None:
    """Serve until a signal, or until stdin ends; prints ``ready`` once it serves."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    store = Store()
    cluster = RealCluster(config.gcs_address, private_directory(config.session_dir), store)
    hub = Hub(
        config,
        store,
        timeline=cluster.timeline,
        sources=cluster.sources,
        publisher=cluster,
        doctor=cluster.doctor(config).report,
        debugger=cluster.debugger,
    )
    await hub.start()
    try:
        if watch_stdin:
            threading.Thread(target=_await_end_of_stdin, args=(loop, stop), daemon=True).start()
        print("ready", flush=True)
        logger.info("serving on %s", ", ".join(str(x) for x in (config.socket, hub.endpoint().url) if x))
        await stop.wait()
        logger.info("ending")
    finally:
        await hub.stop()
        await cluster.close()


def _await_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(stop.set)
    time.sleep(_LAST_RESORT_S)
    os._exit(1)


def main(arguments: list[str] | None = None) -> int:
    config, watch_stdin, level = parse(arguments)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE_ADJ)
    try:
        asyncio.run(serve(config, watch_stdin=watch_stdin))
    except OSError as error:
        logger.error("can't serve: %s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
