"""What Ray says of the process that asks."""

from __future__ import annotations


def own_node() -> tuple[str, str] | None:
    """Session directory and node id (hex) of this process's node; None before ``ray.init``, and under Ray Client."""
    try:
        from ray._private.worker import global_worker

        if not global_worker.connected or global_worker.node is None:
            return None
        return global_worker.node.get_session_dir_path(), global_worker.current_node_id.hex()
    except (ImportError, AttributeError):
        return None
