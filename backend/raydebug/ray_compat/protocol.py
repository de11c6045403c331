"""Ray's generated protocol and a channel that speaks it."""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

MESSAGE_LIMIT: Final = 512 * 1024 * 1024


class Protocol(NamedTuple):
    gcs: Any
    gcs_grpc: Any
    common: Any
    raylet: Any
    raylet_grpc: Any


@functools.cache
def protocol() -> Protocol:
    from ray.core.generated import (
        common_pb2,
        gcs_service_pb2,
        gcs_service_pb2_grpc,
        node_manager_pb2,
        node_manager_pb2_grpc,
    )

    return Protocol(gcs_service_pb2, gcs_service_pb2_grpc, common_pb2, node_manager_pb2, node_manager_pb2_grpc)


def grpc_channel(address: str) -> Any:
    """A channel as Ray makes it: TLS and, in token mode, Ray's token come with it."""
    try:
        from ray._private.grpc_utils import init_grpc_channel
    except ImportError:
        from ray._private.utils import init_grpc_channel
    options = [
        ("grpc.enable_http_proxy", 0),
        ("grpc.max_receive_message_length", MESSAGE_LIMIT),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 2000),
    ]
    return init_grpc_channel(address, options, asynchronous=True)
