"""The only door to Ray's private modules: what differs between its versions is known here and nowhere else.

Importing this file imports nothing of Ray; each function imports what it needs.
"""

from __future__ import annotations

import functools
import importlib
import io
import json
import logging
import pickle
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from raydebug.api.facts import ActorFact, JobFact, LegacySessionFact, NodeFact, PausedWorkerFact, WorkerStat

log = logging.getLogger(__name__)

# --- dashboard modules ---


def dashboard_head() -> tuple[Any, Any]:
    """The base class of modules in the dashboard's head process, and the table that takes their routes."""
    from ray.dashboard.optional_utils import DashboardHeadRouteTable
    from ray.dashboard.utils import DashboardHeadModule

    return DashboardHeadModule, DashboardHeadRouteTable


def dashboard_agent() -> tuple[Any, Any]:
    """The base class of modules in a node's dashboard agent, and the table that takes their routes."""
    try:
        from ray.dashboard.optional_utils import DashboardAgentRouteTable
    except ImportError:
        from ray.dashboard.routes import DashboardAgentRouteTable
    from ray.dashboard.utils import DashboardAgentModule

    return DashboardAgentModule, DashboardAgentRouteTable


def token_mode() -> bool:
    """Whether this cluster asks for Ray's own token (``RAY_AUTH_MODE=token``, Ray 2.52 and later)."""
    try:
        from ray._private.authentication import authentication_utils
    except ImportError:
        return False
    return bool(authentication_utils.is_token_auth_enabled())


def holds_ray_token(headers: Mapping[str, str], cookies: Mapping[str, str]) -> bool:
    """The check that Ray's middleware makes in token mode, from the same three places in the same order."""
    from ray._private.authentication import authentication_constants as names
    from ray._private.authentication import authentication_utils

    given = headers.get(names.AUTHORIZATION_HEADER_NAME) or headers.get(names.RAY_AUTHORIZATION_HEADER_NAME)
    if not given and (cookie := cookies.get(names.AUTHENTICATION_TOKEN_COOKIE_NAME)):
        given = names.AUTHORIZATION_BEARER_PREFIX + cookie
    return bool(given) and bool(authentication_utils.validate_request_token(given))


def ray_token_headers() -> dict[str, str]:
    """What Ray's agents and dashboard ask for in token mode; empty where it is off or this process has no token."""
    try:
        if not token_mode():
            return {}
        loader = importlib.import_module("ray._raylet").AuthenticationTokenLoader.instance()
        return dict(loader.get_token_for_http_header()) if loader.has_token() else {}
    except (ImportError, AttributeError):
        return {}


def make_paths_public(exact: Iterable[str], prefixes: Iterable[str]) -> bool:
    """Exempt paths of the dashboard's head from Ray's token check; to be called before its server starts.

    Ray builds the list of public paths inside ``HttpServerDashboardHead.run``, so the one way in is the function that
    gets it. False where there is nothing to exempt from (before Ray 2.52) or Ray has changed: paths stay refused then.
    """
    try:
        from ray.dashboard import http_server_head as server

        original = server.get_token_auth_middleware
    except (ImportError, AttributeError):
        return False
    exact, prefixes = tuple(exact), tuple(prefixes)

    def with_ours(aiohttp_module: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            ray_exact, ray_prefixes, *rest = (*args, None, None)[: max(2, len(args))]
            ray_exact = kwargs.pop("whitelisted_exact_paths", ray_exact) or ()
            ray_prefixes = kwargs.pop("whitelisted_path_prefixes", ray_prefixes) or ()
            return original(aiohttp_module, [*ray_exact, *exact], [*ray_prefixes, *prefixes], *rest, **kwargs)
        except TypeError:
            log.exception("Ray's token middleware has changed: raydebug's page asks for Ray's token, too")
            return original(aiohttp_module, *args, **kwargs)

    server.get_token_auth_middleware = with_ours
    return True


def dashboard_url(head_module: Any) -> str:
    """Where the dashboard serves; its port may differ from the configured one, which was taken. Blocks on the GCS."""
    address = f"{head_module.http_host}:{head_module.http_port}"
    try:
        from ray._private import ray_constants

        published = head_module.gcs_client.internal_kv_get(
            ray_constants.DASHBOARD_ADDRESS.encode(), namespace=ray_constants.KV_NAMESPACE_DASHBOARD, timeout=5
        )
        address = published.decode() if published else address
    except Exception:
        log.warning("raydebug: the dashboard's address isn't in the GCS, taking %s", address, exc_info=True)
    return f"http://{address}"


def agent_kv_put_if_absent(agent: Any, key: bytes, value: bytes, namespace: bytes) -> bytes:
    """What the GCS KV holds under ``key`` after an attempt to be the first to put it. Blocks on the GCS."""
    client = getattr(agent, "gcs_client", None)
    if client is None:  # before 2.44 or so agents had an asyncio client only, of another kind
        from ray._raylet import GcsClient  # type: ignore[attr-defined]

        client = GcsClient(address=agent.gcs_address)
    client.internal_kv_put(key, value, False, namespace=namespace, timeout=10)
    return bytes(client.internal_kv_get(key, namespace=namespace, timeout=10) or b"")


# --- the GCS and the raylets ---

_NIL = b"\xff"
_MESSAGE_LIMIT = 512 * 1024 * 1024


class Gcs:
    """Reads the cluster from Ray's GCS and raylets over gRPC, without being a driver (no ``ray.init``).

    Every method raises :class:`GcsError` when the GCS can't be reached or answers with an error; ``timeout`` seconds
    bound each call.
    """

    def __init__(self, address: str, timeout: float = 10) -> None:
        self.address = address
        self._timeout = timeout
        self._channels: dict[str, Any] = {}

    async def close(self) -> None:
        channels, self._channels = list(self._channels.values()), {}
        for channel in channels:
            await channel.close()

    async def nodes(self) -> list[NodeFact]:
        pb = _protocol()
        answer = await self._call(pb.gcs_grpc.NodeInfoGcsServiceStub, "GetAllNodeInfo", pb.gcs.GetAllNodeInfoRequest())
        return [_node_fact(node) for node in answer.node_info_list]

    async def jobs(self) -> list[JobFact]:
        pb = _protocol()
        # Without these two fields the GCS asks every driver, and one that hangs holds up the answer.
        request = pb.gcs.GetAllJobInfoRequest(skip_submission_job_info_field=True, skip_is_running_tasks_field=True)
        answer = await self._call(pb.gcs_grpc.JobInfoGcsServiceStub, "GetAllJobInfo", request)
        return [_job_fact(job) for job in answer.job_info_list]

    async def actors(self) -> list[ActorFact]:
        """All actors the GCS still knows, of ended jobs, too."""
        pb = _protocol()
        request = pb.gcs.GetAllActorInfoRequest(show_dead_jobs=True)
        answer = await self._call(pb.gcs_grpc.ActorInfoGcsServiceStub, "GetAllActorInfo", request)
        return [_actor_fact(actor) for actor in answer.actor_table_data]

    async def paused_workers(self) -> list[PausedWorkerFact]:
        """Workers and drivers in which threads wait for a debugger: 1 to 2 ms, whatever the number of workers."""
        pb = _protocol()
        request = pb.gcs.GetAllWorkerInfoRequest()
        request.filters.exist_paused_threads = True
        request.filters.is_alive = True
        answer = await self._call(pb.gcs_grpc.WorkerInfoGcsServiceStub, "GetAllWorkerInfo", request)
        return [
            PausedWorkerFact(
                worker_id=worker.worker_address.worker_id.hex(),
                pid=worker.pid,
                node_id=_address_node(worker.worker_address).hex(),
                is_driver=worker.worker_type == pb.common.DRIVER,
                threads=worker.num_paused_threads,
            )
            for worker in answer.worker_table_data
            if worker.is_alive and worker.num_paused_threads > 0
        ]

    async def legacy_sessions(self) -> list[LegacySessionFact]:
        """The pdb sessions that ``RAY_DEBUG=legacy`` opened."""
        sessions = []
        for key in await self.kv_keys(b"RAY_PDB_", b"ray_pdb"):
            value = None if key.startswith(b"RAY_PDB_CONTINUE_") else await self.kv_get(key, b"ray_pdb")
            if value and (session := _legacy_session(key.decode(errors="replace"), value)):
                sessions.append(session)
        return sessions

    async def worker_stats(self, node: NodeFact) -> list[WorkerStat]:
        """What the workers and drivers of a node say of themselves; its raylet asks each of them."""
        pb = _protocol()
        address = f"{node.ip}:{node.raylet_port}"
        request = pb.raylet.GetNodeStatsRequest(include_memory_info=False)
        answer = await self._call(pb.raylet_grpc.NodeManagerServiceStub, "GetNodeStats", request, address)
        now = time.time_ns()
        return [
            WorkerStat(
                worker_id=worker.worker_id.hex(),
                pid=worker.pid,
                job_id=_id(worker.job_id),
                running=worker.num_running_tasks,
                queued=worker.task_queue_length,
                calls_out=worker.num_pending_tasks,
                at_ns=now,
            )
            for worker in answer.core_workers_stats
        ]

    async def class_methods(self, actor: ActorFact) -> list[str] | None:
        """The names of all methods of an actor's class, as its creator exported them; None if they aren't there."""
        raylet: Any = importlib.import_module("ray._raylet")  # its stub file doesn't know all of it
        function_id = raylet.PythonFunctionDescriptor(*actor.function).function_id.binary()
        key = b":".join((b"ActorClass", actor.job_id.encode(), function_id))
        value = await self.kv_get(key, b"fun")
        return _method_names(value) if value else None

    async def kv_get(self, key: bytes, namespace: bytes) -> bytes | None:
        pb = _protocol()
        request = pb.gcs.InternalKVGetRequest(key=key, namespace=namespace)
        answer = await self._call(pb.gcs_grpc.InternalKVGcsServiceStub, "InternalKVGet", request, missing_is_none=True)
        return bytes(answer.value) if answer is not None else None

    async def kv_put(self, key: bytes, value: bytes, namespace: bytes, *, overwrite: bool = True) -> None:
        pb = _protocol()
        request = pb.gcs.InternalKVPutRequest(key=key, value=value, namespace=namespace, overwrite=overwrite)
        await self._call(pb.gcs_grpc.InternalKVGcsServiceStub, "InternalKVPut", request)

    async def kv_keys(self, prefix: bytes, namespace: bytes) -> list[bytes]:
        pb = _protocol()
        request = pb.gcs.InternalKVKeysRequest(prefix=prefix, namespace=namespace)
        answer = await self._call(pb.gcs_grpc.InternalKVGcsServiceStub, "InternalKVKeys", request)
        return list(answer.results)

    async def agent_port(self, node_id: str) -> int | None:
        """Where a node's agent serves HTTP, as it published itself; None until it did.

        Ray 2.60 has it in the node's own entry, too; the keys are those of 2.49 and of 2.41.
        """
        for prefix in ("DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:", "DASHBOARD_AGENT_PORT_PREFIX:"):
            value = await self.kv_get(f"{prefix}{node_id}".encode(), b"dashboard")
            try:
                if value:
                    return int(json.loads(value)[-2])  # [ip, http port, grpc port] or [http port, grpc port]
            except (ValueError, TypeError, LookupError):
                continue
        return None

    async def _call(
        self, stub: Any, method: str, request: Any, address: str | None = None, *, missing_is_none: bool = False
    ) -> Any:
        import grpc

        address = address or self.address
        channel = self._channels.get(address)
        if channel is None:
            channel = self._channels[address] = _grpc_channel(address)
        try:
            answer = await getattr(stub(channel), method)(request, timeout=self._timeout)
        except grpc.RpcError as error:
            # The channel stays: closing it would cancel the other calls on it, and with them whoever waits for those.
            # It reconnects by itself, 2 s after its last attempt at the latest.
            code = error.code().name if hasattr(error, "code") else type(error).__name__
            raise GcsError(f"{method} on {address}: {code}") from error
        status = getattr(answer, "status", None)
        if status is not None and status.code:
            if missing_is_none and status.code == _NOT_FOUND:
                return None
            raise GcsError(f"{method} on {address}: {status.message or status.code}")
        return answer


_NOT_FOUND = 17  # ray::StatusCode::NotFound (src/ray/common/status.h)


async def read_kv(gcs_address: str, key: bytes, namespace: bytes) -> bytes | None:
    """One value of a GCS KV, by a connection of its own. Raises GcsError."""
    gcs = Gcs(gcs_address)
    try:
        return await gcs.kv_get(key, namespace)
    finally:
        await gcs.close()


class GcsError(Exception):
    """The GCS or a raylet can't be reached, or refused."""


class _Protocol(NamedTuple):
    gcs: Any
    gcs_grpc: Any
    common: Any
    raylet: Any
    raylet_grpc: Any


@functools.cache
def _protocol() -> _Protocol:
    from ray.core.generated import (
        common_pb2,
        gcs_service_pb2,
        gcs_service_pb2_grpc,
        node_manager_pb2,
        node_manager_pb2_grpc,
    )

    return _Protocol(gcs_service_pb2, gcs_service_pb2_grpc, common_pb2, node_manager_pb2, node_manager_pb2_grpc)


def _grpc_channel(address: str) -> Any:
    """A channel as Ray makes it: TLS and, in token mode, Ray's token come with it."""
    try:
        from ray._private.grpc_utils import init_grpc_channel
    except ImportError:
        from ray._private.utils import init_grpc_channel
    options = [
        ("grpc.enable_http_proxy", 0),
        ("grpc.max_receive_message_length", _MESSAGE_LIMIT),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 2000),
    ]
    return init_grpc_channel(address, options, asynchronous=True)


def _id(value: bytes) -> str | None:
    return None if not value or value.strip(_NIL) == b"" else value.hex()


def _ns(milliseconds: int) -> int | None:
    return milliseconds * 1_000_000 or None


def _address_node(address: Any) -> bytes:
    # Ray 2.49 and before call it raylet_id.
    return bytes(getattr(address, "node_id", b"") or getattr(address, "raylet_id", b""))


def _node_fact(node: Any) -> NodeFact:
    death = node.death_info if node.HasField("death_info") else None
    return NodeFact(
        node_id=node.node_id.hex(),
        ip=node.node_manager_address,
        hostname=node.node_manager_hostname,
        alive=node.state == 0,
        is_head=node.is_head_node,
        start_ns=_ns(node.start_time_ms),
        end_ns=_ns(node.end_time_ms),
        death_cause=(death.reason_message or None) if death and node.state else None,
        cpus=node.resources_total.get("CPU"),
        gpus=node.resources_total.get("GPU"),
        raylet_port=node.node_manager_port,
        agent_port=getattr(node, "dashboard_agent_listen_port", 0) or None,
    )


def _job_fact(job: Any) -> JobFact:
    address = job.driver_address
    return JobFact(
        job_id=job.job_id.hex(),
        entrypoint=job.entrypoint,
        ended=job.is_dead,
        start_ns=_ns(job.start_time),
        end_ns=_ns(job.end_time),
        driver_worker_id=address.worker_id.hex() or None,
        driver_pid=job.driver_pid or None,
        driver_ip=job.driver_ip_address or None,
        submission_id=job.config.metadata.get("job_submission_id"),
        env=_env_vars(job.config.runtime_env_info.serialized_runtime_env),
    )


def _actor_fact(actor: Any) -> ActorFact:
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
        worker_id=_id(actor.address.worker_id),
        node_id=_id(_address_node(actor.address)) or _id(actor.node_id),
        pid=actor.pid or None,
        owner_worker_id=actor.owner_address.worker_id.hex() or None,
        detached=actor.is_detached,
        placement_group_id=_id(actor.placement_group_id),
        restarts=actor.num_restarts,
        env=_env_vars(actor.serialized_runtime_env),
        start_ns=_ns(actor.start_time),
        end_ns=_ns(actor.end_time),
        changed_ns=_ns(int(actor.timestamp)),
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


def _legacy_session(key: str, value: bytes) -> LegacySessionFact | None:
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


def _method_names(exported_class: bytes) -> list[str] | None:
    try:
        names = json.loads(_NoClasses(io.BytesIO(exported_class)).load()["actor_method_names"])
        return [str(name) for name in names]
    except Exception:
        # Hostile or of a Ray we don't know: whatever unpickling raises, roles are unknown then.
        log.debug("raydebug: an exported class can't be read", exc_info=True)
        return None
