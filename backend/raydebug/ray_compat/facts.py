"""Ray's protobuf messages and stored values, turned into facts of ours."""

from __future__ import annotations

import io
import json
import logging
import pickle
from typing import Any, Final

from raydebug.api.facts import ActorFact, JobFact, LegacySessionFact, NodeFact

log = logging.getLogger(__name__)

NIL: Final = b"\xff"


def hex_id(value: bytes) -> str | None:
    return None if not value or value.strip(NIL) == b"" else value.hex()


def ns(milliseconds: int) -> int | None:
    return milliseconds * 1_000_000 or None


def address_node(address: Any) -> bytes:
    # Ray 2.49 and before call it raylet_id.
    return bytes(getattr(address, "node_id", b"") or getattr(address, "raylet_id", b""))


def node_fact(node: Any) -> NodeFact:
    death = node.death_info if node.HasField("death_info") else None
    return NodeFact(
        node_id=node.node_id.hex(),
        ip=node.node_manager_address,
        hostname=node.node_manager_hostname,
        alive=node.state == 0,
        is_head=node.is_head_node,
        start_ns=ns(node.start_time_ms),
        end_ns=ns(node.end_time_ms),
        death_cause=(death.reason_message or None) if death and node.state else None,
        cpus=node.resources_total.get("CPU"),
        gpus=node.resources_total.get("GPU"),
        raylet_port=node.node_manager_port,
        agent_port=getattr(node, "dashboard_agent_listen_port", 0) or None,
    )


def job_fact(job: Any) -> JobFact:
    address = job.driver_address
    return JobFact(
        job_id=job.job_id.hex(),
        entrypoint=job.entrypoint,
        ended=job.is_dead,
        start_ns=ns(job.start_time),
        end_ns=ns(job.end_time),
        driver_worker_id=address.worker_id.hex() or None,
        driver_pid=job.driver_pid or None,
        driver_ip=job.driver_ip_address or None,
        submission_id=job.config.metadata.get("job_submission_id"),
        env=_env_vars(job.config.runtime_env_info.serialized_runtime_env),
    )


def actor_fact(actor: Any) -> ActorFact:
    function = actor.function_descriptor.python_function_descriptor
    kind, cause = _death(actor.death_cause) if actor.HasField("death_cause") else (None, None)
    return ActorFact(
        actor_id=actor.actor_id.hex(),
        job_id=actor.job_id.hex(),
        state=type(actor).ActorState.Name(actor.state),
        name=actor.name or None,
        namespace=actor.ray_namespace,
        class_name=actor.class_name,
        repr_name=actor.repr_name,
        module=function.module_name,
        function=(function.module_name, function.function_name, function.class_name, function.function_hash),
        worker_id=hex_id(actor.address.worker_id),
        node_id=hex_id(address_node(actor.address)) or hex_id(actor.node_id),
        pid=actor.pid or None,
        owner_worker_id=actor.owner_address.worker_id.hex() or None,
        detached=actor.is_detached,
        placement_group_id=hex_id(actor.placement_group_id),
        restarts=actor.num_restarts,
        env=_env_vars(actor.serialized_runtime_env),
        start_ns=ns(actor.start_time),
        end_ns=ns(actor.end_time),
        changed_ns=ns(int(actor.timestamp)),
        death_kind=kind,
        death_cause=cause,
    )


def _death(cause: Any) -> tuple[str | None, str | None]:
    context = cause.WhichOneof("context")
    if context is None:
        return None, None
    detail = getattr(cause, context)
    if context == "actor_died_error_context":
        reasons = type(detail).Reason
        return reasons.Name(detail.reason), detail.error_message or None
    if context == "creation_task_failure_context":
        return "CREATION_FAILED", detail.formatted_exception_string or None
    return context.removesuffix("_context").upper(), getattr(detail, "error_message", "") or None


def _env_vars(serialized_runtime_env: str) -> dict[str, str]:
    try:
        env = json.loads(serialized_runtime_env or "{}").get("env_vars") or {}
    except (ValueError, AttributeError):
        return {}
    return {str(name): str(value) for name, value in env.items()}


def legacy_session(key: str, value: bytes) -> LegacySessionFact | None:
    try:
        data = json.loads(value)
        trace = str(data.get("traceback") or "").strip()
        return LegacySessionFact(
            session_id=key,
            filename=str(data.get("filename")),
            line=int(data["lineno"]) if data.get("lineno") else None,
            # format_exception of "no exception" is "NoneType: None".
            exception=trace.splitlines()[-1] if trace and trace != "NoneType: None" else None,
            since_ns=int(float(data["timestamp"]) * 1e9) if data.get("timestamp") else None,
            proctitle=str(data.get("proctitle") or ""),
            job_id=data.get("job_id"),
            node_id=data.get("node_id"),
            worker_id=data.get("worker_id"),
            actor_id=data.get("actor_id"),
            task_id=data.get("task_id"),
        )
    except (ValueError, TypeError, AttributeError):
        return None


class _NoClasses(pickle.Unpickler):
    """Unpickles plain values only: what lies in the GCS KV is data, any task can write there."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def method_names(exported_class: bytes) -> list[str] | None:
    try:
        names = json.loads(_NoClasses(io.BytesIO(exported_class)).load()["actor_method_names"])
        return [str(name) for name in names]
    except Exception:
        # Hostile or of a Ray we don't know: whatever unpickling raises, roles are unknown then.
        log.debug("raydebug: an exported class can't be read", exc_info=True)
        return None
