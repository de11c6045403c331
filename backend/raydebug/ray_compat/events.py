"""Ray's events at their source: what this Ray can push, and the node agent's aggregator to take them from."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

log = logging.getLogger(__name__)

PUSH_SWITCHES: Final = ("enable_core_worker_ray_event_to_aggregator", "enable_ray_event")
"""The first makes workers send task events to their node's aggregator; the second, where there is one, all events."""
REPORT_INTERVAL: Final = "task_events_report_interval_ms"
REPORT_INTERVAL_MS: Final = 100


def push_config() -> dict[str, Any] | None:
    """The system config by which a head makes its cluster push task events; None where this Ray can't."""
    if not knows_setting(PUSH_SWITCHES[0]):
        return None
    config: dict[str, Any] = {name: True for name in PUSH_SWITCHES if knows_setting(name)}
    if knows_setting(REPORT_INTERVAL):
        config[REPORT_INTERVAL] = REPORT_INTERVAL_MS
    return config


@functools.cache
def knows_setting(name: str) -> bool:
    """Whether this Ray's GCS knows a key of the system config; it dies of an unknown one.

    Ray lists its settings nowhere in Python. In the GCS's binary each setting's name stands as the environment variable
    that overrides it (RAY_CONFIG in src/ray/common/ray_config.h).
    """
    import ray

    binary = Path(ray.__file__).parent / "core" / "src" / "ray" / "gcs" / "gcs_server"
    try:
        return b"\0RAY_" + name.encode() + b"\0" in binary.read_bytes()
    except OSError:
        log.warning("raydebug: Ray's GCS isn't at %s, so what it can do isn't known", binary)
        return False


def tee_events(take: Callable[[Any], None]) -> str | None:
    """Have ``take`` called with each request that workers send to this agent's aggregator, before Ray's own handling.

    To be called before the agent's modules run. None if that worked, else why not. ``take`` must be quick; what it
    raises is swallowed.
    """
    import ray

    try:
        module = importlib.import_module("ray.dashboard.modules.aggregator.aggregator_agent")
        original = module.AggregatorAgent.AddEvents
    except ModuleNotFoundError:
        return f"Ray {ray.__version__} has no event aggregator (2.49 and later have one)"
    except Exception as error:
        return f"the event aggregator of Ray {ray.__version__} isn't as expected: {type(error).__name__}: {error}"

    @functools.wraps(original)
    async def with_ours(self: Any, request: Any, context: Any) -> Any:
        try:
            take(request)
        except Exception:
            log.debug("raydebug: events could not be taken", exc_info=True)
        return await original(self, request, context)

    module.AggregatorAgent.AddEvents = with_ours
    return None
