"""Questions to the GCS and the raylets, over gRPC."""

from __future__ import annotations

import importlib
import json
import time
from typing import Any, Final

from raydebug.api.facts import (
    ActorFact,
    DebuggeeFact,
    JobFact,
    LegacySessionFact,
    NodeFact,
    PausedWorkerFact,
    WorkerStat,
)

from .facts import actor_fact, address_node, hex_id, job_fact, legacy_session, method_names, node_fact
from .protocol import grpc_channel, protocol


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
        pb = protocol()
        answer = await self._call(pb.gcs_grpc.NodeInfoGcsServiceStub, "GetAllNodeInfo", pb.gcs.GetAllNodeInfoRequest())
        return [node_fact(node) for node in answer.node_info_list]

    async def jobs(self) -> list[JobFact]:
        pb = protocol()
        # Without these two fields the GCS asks every driver, and one that hangs holds up the answer.
        request = pb.gcs.GetAllJobInfoRequest(skip_submission_job_info_field=True, skip_is_running_tasks_field=True)
        answer = await self._call(pb.gcs_grpc.JobInfoGcsServiceStub, "GetAllJobInfo", request)
        return [job_fact(job) for job in answer.job_info_list]

    async def actors(self) -> list[ActorFact]:
        """All actors the GCS still knows, of ended jobs, too."""
        pb = protocol()
        request = pb.gcs.GetAllActorInfoRequest(show_dead_jobs=True)
        answer = await self._call(pb.gcs_grpc.ActorInfoGcsServiceStub, "GetAllActorInfo", request)
        return [actor_fact(actor) for actor in answer.actor_table_data]

    async def paused_workers(self) -> list[PausedWorkerFact]:
        """Workers and drivers in which threads wait for a debugger: 1 to 2 ms, whatever the number of workers."""
        pb = protocol()
        request = pb.gcs.GetAllWorkerInfoRequest()
        request.filters.exist_paused_threads = True
        request.filters.is_alive = True
        answer = await self._call(pb.gcs_grpc.WorkerInfoGcsServiceStub, "GetAllWorkerInfo", request)
        return [
            PausedWorkerFact(
                worker_id=worker.worker_address.worker_id.hex(),
                pid=worker.pid,
                node_id=address_node(worker.worker_address).hex(),
                is_driver=worker.worker_type == pb.common.DRIVER,
                threads=worker.num_paused_threads,
            )
            for worker in answer.worker_table_data
            if worker.is_alive and worker.num_paused_threads > 0
        ]

    async def debuggee(self, worker_id: str) -> DebuggeeFact | None:
        """A worker or driver that is alive, and where it can be debugged; None if there is none."""
        try:
            wanted = bytes.fromhex(worker_id)
        except ValueError:
            return None
        pb = protocol()
        request = pb.gcs.GetWorkerInfoRequest(worker_id=wanted)
        answer = await self._call(pb.gcs_grpc.WorkerInfoGcsServiceStub, "GetWorkerInfo", request, missing_is_none=True)
        worker = answer.worker_table_data if answer is not None else None
        if worker is None or not worker.is_alive or worker.worker_address.worker_id != wanted:
            return None
        return DebuggeeFact(
            worker_id=worker_id,
            pid=worker.pid,
            node_id=address_node(worker.worker_address).hex(),
            ip=worker.worker_address.ip_address,
            port=worker.debugger_port,
            is_driver=worker.worker_type == pb.common.DRIVER,
        )

    async def legacy_sessions(self) -> list[LegacySessionFact]:
        """The pdb sessions that ``RAY_DEBUG=legacy`` opened."""
        sessions = []
        for key in await self.kv_keys(b"RAY_PDB_", b"ray_pdb"):
            value = None if key.startswith(b"RAY_PDB_CONTINUE_") else await self.kv_get(key, b"ray_pdb")
            if value and (session := legacy_session(key.decode(errors="replace"), value)):
                sessions.append(session)
        return sessions

    async def worker_stats(self, node: NodeFact) -> list[WorkerStat]:
        """What the workers and drivers of a node say of themselves; its raylet asks each of them."""
        pb = protocol()
        address = f"{node.ip}:{node.raylet_port}"
        request = pb.raylet.GetNodeStatsRequest(include_memory_info=False)
        answer = await self._call(pb.raylet_grpc.NodeManagerServiceStub, "GetNodeStats", request, address)
        now = time.time_ns()
        return [
            WorkerStat(
                worker_id=worker.worker_id.hex(),
                pid=worker.pid,
                job_id=hex_id(worker.job_id),
                running=worker.num_running_tasks,
                queued=worker.task_queue_length,
                calls_out=worker.num_pending_tasks,
                at_ns=now,
                node_id=node.node_id,
            )
            for worker in answer.core_workers_stats
        ]

    async def class_methods(self, actor: ActorFact) -> list[str] | None:
        """The names of all methods of an actor's class, as its creator exported them; None if they aren't there."""
        raylet: Any = importlib.import_module("ray._raylet")  # its stub file doesn't know all of it
        function_id = raylet.PythonFunctionDescriptor(*actor.function).function_id.binary()
        key = b":".join((b"ActorClass", actor.job_id.encode(), function_id))
        value = await self.kv_get(key, b"fun")
        return method_names(value) if value else None

    async def task_events(self, task_id: bytes | None = None) -> bytes:
        """Ray's stored task events as they came: a GetTaskEventsReply for ``ray_compat.tasks``, up to 60 MB.

        It costs the GCS in proportion to what it stores, unless one task is asked for.
        """
        import grpc

        request = protocol().gcs.GetTaskEventsRequest()
        if task_id is not None:
            request.filters.task_filters.add(task_id=task_id)
        try:
            call = self._channel(self.address).unary_unary(
                "/ray.rpc.TaskInfoGcsService/GetTaskEvents",
                request_serializer=lambda message: message.SerializeToString(),
            )
            return bytes(await call(request, timeout=_TASKS_TIMEOUT_S))
        except grpc.RpcError as error:
            code = error.code().name if hasattr(error, "code") else type(error).__name__
            raise GcsError(f"GetTaskEvents on {self.address}: {code}") from error

    async def system_config(self) -> dict[str, Any]:
        """The system config with which the head was started, defaults left out."""
        pb = protocol()
        answer = await self._call(
            pb.gcs_grpc.InternalKVGcsServiceStub, "GetInternalConfig", pb.gcs.GetInternalConfigRequest()
        )
        found = json.loads(answer.config or "{}")
        return found if isinstance(found, dict) else {}

    async def kv_get(self, key: bytes, namespace: bytes) -> bytes | None:
        pb = protocol()
        request = pb.gcs.InternalKVGetRequest(key=key, namespace=namespace)
        answer = await self._call(pb.gcs_grpc.InternalKVGcsServiceStub, "InternalKVGet", request, missing_is_none=True)
        return bytes(answer.value) if answer is not None else None

    async def kv_put(self, key: bytes, value: bytes, namespace: bytes, *, overwrite: bool = True) -> None:
        pb = protocol()
        request = pb.gcs.InternalKVPutRequest(key=key, value=value, namespace=namespace, overwrite=overwrite)
        await self._call(pb.gcs_grpc.InternalKVGcsServiceStub, "InternalKVPut", request)

    async def kv_keys(self, prefix: bytes, namespace: bytes) -> list[bytes]:
        pb = protocol()
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

    def _channel(self, address: str) -> Any:
        channel = self._channels.get(address)
        if channel is None:
            channel = self._channels[address] = grpc_channel(address)
        return channel

    async def _call(
        self, stub: Any, method: str, request: Any, address: str | None = None, *, missing_is_none: bool = False
    ) -> Any:
        import grpc

        address = address or self.address
        channel = self._channel(address)
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


_TASKS_TIMEOUT_S: Final = 60.0
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
