"""The only door to Ray's private modules: what differs between its versions is known here and nowhere else.

Importing it imports nothing of Ray; each function imports what it needs.
"""

from .dashboard import (
    agent_kv_put_if_absent,
    dashboard_agent,
    dashboard_head,
    dashboard_url,
    holds_ray_token,
    make_paths_public,
    ray_token_headers,
    token_mode,
)
from .events import PUSH_SWITCHES, push_config, tee_events
from .gcs import Gcs, GcsError, read_kv
from .process import own_node
from .tasks import TaskReader, read_ray_events

__all__ = [
    "PUSH_SWITCHES",
    "Gcs",
    "GcsError",
    "TaskReader",
    "agent_kv_put_if_absent",
    "dashboard_agent",
    "dashboard_head",
    "dashboard_url",
    "holds_ray_token",
    "make_paths_public",
    "own_node",
    "push_config",
    "ray_token_headers",
    "read_kv",
    "read_ray_events",
    "tee_events",
    "token_mode",
]
