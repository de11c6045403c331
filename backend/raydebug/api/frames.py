"""Frames on the node's unix sockets: agreed upon by those who write them and those who read them."""

from __future__ import annotations

import struct
from typing import Final

EVENTS_HEADER: Final = struct.Struct("!IIQ")
"""Agent -> helper, before each request of a worker: its length, how many events it holds, how many events the agent has
dropped so far."""
REQUEST_BYTES: Final = 12 << 20
"""A request over it is dropped: it would not fit into a message to the hub."""
STEP: Final = struct.Struct("!BqQI")
"""Worker -> helper: STEP_KIND; the step's number; Unix ns; how many messages this process had to drop so far."""
STEP_KIND: Final = 1
