"""Names that several processes must agree on."""

from __future__ import annotations

from typing import Final

PROTOCOL: Final = 2
"""Version of the messages in this package. The hub speaks this one and the one before.

2: task events through the helper; the timeline's topic and queries.
"""

MIN_RAY: Final = (2, 41)
MIN_DEBUGPY: Final = (1, 8)

KV_NAMESPACE: Final = b"raydebug"
"""Namespace in the GCS KV, which every task can read: nothing that grants rights belongs there."""
KV_SECRET: Final = b"cluster_secret"
"""32 random bytes, hex. Keeps out who can't reach the GCS, no more."""
KV_HUB: Final = b"hub"
"""JSON of :class:`raydebug.api.health.HubEndpoint`."""

HUB_SOCKET: Final = "raydebug-hub.sock"
HELPER_SOCKET: Final = "raydebug-helper-{node8}.sock"
"""``node8``: the first 8 hex digits of the node id; several nodes of one machine may share a session directory."""

KEEPER_SOCKET: Final = "raydebug-keeper-{node8}.sock"

EVENTS_SOCKET: Final = "raydebug-events-{node8}.sock"
"""Of the helper: there Ray's agent hands on the task events that workers sent it."""

WORKER_SOCKET: Final = "raydebug-worker-{node8}.sock"
"""Of the helper: there the client library in this node's workers finds it."""

URL_PREFIX: Final = "/debug"
API_PREFIX: Final = "/debug/api/v1"
AGENT_HELPER_PATH: Final = "/raydebug/helper"
"""On Ray's node agent: a websocket whose bytes are spliced through to the helper's socket."""

AGENT_KEEPER_PATH: Final = "/raydebug/keeper"
"""The same for the keeper, which is started by the first that connects; with ``?running`` it isn't started for that."""

TAKEN_OVER: Final = 4001
"""Code with which a helper closes the websocket of a hub when another one has come; a helper serves one."""

TOKEN_HEADER: Final = "X-Raydebug-Token"
PEER_HEADER: Final = "X-Raydebug-Peer"
"""Set by the gateway alone, after it stripped what a client sent: the address of the TCP peer."""
ROUTE_HEADER: Final = "X-Raydebug-Route"
"""Set by the gateway alone: ``shell`` (public in token mode), ``ray-auth`` (Ray's own check passed) or ``open``
(Ray's token mode is off)."""
