"""WorkerGroups on Ray by the conventions of verl's single_controller (0.9.1, ``verl/single_controller/ray/base.py``).

What recognises verl goes by these: the actor's name ``<prefix><class>_<placement group>:<local rank>``, the variables
RANK, WORLD_SIZE, RAY_LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, WG_PREFIX and WG_BACKEND in its runtime_env, the
placement group's name ``<random>verl_group_<ranks>:<index>``, and a role's name before its methods' names.
"""

from __future__ import annotations

import random
import socket
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from raydebug.demo.batch import Batch, join, split
from raydebug.demo.workers import REGISTERED, Worker

CPUS_PER_RANK: Final = 0.1
"""Ray's logical CPUs: so little that the demo fits beside a cluster's own work."""

PLACEMENT_TIMEOUT: Final = 60.0
"""Seconds."""


@dataclass(frozen=True)
class Role:
    """A worker class with what its constructor is given."""

    cls: type[Worker]
    kwargs: Mapping[str, object] = field(default_factory=dict)


def create_colocated_worker_cls(roles: Mapping[str, Role]) -> type[Worker]:
    """A class that hosts one worker per role in one process and has each role's methods as ``{role}_{method}``.

    Its name and that of this function are verl's: Ray knows the class as ``create_colocated_worker_cls.<locals>.
    WorkerDict``.
    """

    class WorkerDict(Worker):
        def __init__(self) -> None:
            super().__init__()
            self.worker_dict = {name: role.cls(**role.kwargs) for name, role in roles.items()}

    def delegate(role: str, method: str) -> Callable[..., object]:
        def func(self: WorkerDict, *args: object, **kwargs: object) -> object:
            return getattr(self.worker_dict[role], method)(*args, **kwargs)

        return func

    for name, role in roles.items():
        for method in dir(role.cls):
            if hasattr(getattr(role.cls, method), REGISTERED):
                setattr(WorkerDict, f"{name}_{method}", delegate(name, method))
    return WorkerDict


class WorkerGroup:
    """``world_size`` actors that act as the ranks of one world, each hosting all ``roles``.

    ``env``: further environment variables of the ranks' processes.
    """

    def __init__(self, roles: Mapping[str, Role], world_size: int, env: Mapping[str, str] | None = None) -> None:
        self.name_prefix = _random_name()
        pool = f"{_random_name()}verl_group_{world_size}:0"
        bundles = [{"CPU": CPUS_PER_RANK}] * world_size
        placed = placement_group(bundles, strategy="STRICT_PACK", name=pool)
        if not placed.wait(PLACEMENT_TIMEOUT):
            raise RuntimeError(
                f"no node had {world_size} x {CPUS_PER_RANK} CPU free within {PLACEMENT_TIMEOUT:.0f} s; "
                "`ray status` shows what holds them"
            )

        def bundle(index: int) -> PlacementGroupSchedulingStrategy:
            return PlacementGroupSchedulingStrategy(placed, placement_group_bundle_index=index)

        address = ray.remote(num_cpus=0)(get_master_addr_port).options(scheduling_strategy=bundle(0)).remote()
        master_addr, master_port = ray.get(address)
        worker_cls = create_colocated_worker_cls(roles)
        remote_cls = ray.remote(num_cpus=CPUS_PER_RANK)(worker_cls)
        self.workers = [
            remote_cls.options(
                name=f"{self.name_prefix}{worker_cls.__name__}_0:{rank}",
                scheduling_strategy=bundle(rank),
                runtime_env={
                    "env_vars": {
                        "WORLD_SIZE": str(world_size),
                        "RANK": str(rank),
                        "WG_PREFIX": self.name_prefix,
                        "WG_BACKEND": "ray",
                        "RAY_LOCAL_WORLD_SIZE": str(world_size),
                        "MASTER_ADDR": master_addr,
                        "MASTER_PORT": master_port,
                        **(env or {}),
                    }
                },
            ).remote()
            for rank in range(world_size)
        ]

    def execute_all(self, method: str, *args: object) -> list[Any]:
        """Call a method with the same arguments on every rank; the results by rank."""
        return list(ray.get([getattr(worker, method).remote(*args) for worker in self.workers]))

    def execute_rank_zero(self, method: str, *args: object) -> Any:
        return ray.get(getattr(self.workers[0], method).remote(*args))

    def scatter(self, method: str, batch: Batch, *args: object) -> list[Any]:
        """Call a method on every rank with its share of the batch's rows; the results by rank."""
        shares = split(batch, len(self.workers))
        calls = zip(self.workers, shares, strict=True)
        return list(ray.get([getattr(worker, method).remote(share, *args) for worker, share in calls]))

    def compute(self, method: str, batch: Batch) -> Batch:
        """As :meth:`scatter`, for a method that gives new columns for its rows; joined again in the rows' order."""
        return join(self.scatter(method, batch))


def get_master_addr_port() -> tuple[str, str]:
    """Where rank 0's node may open the rendezvous of torch.distributed. (As in verl the port is only free for now.)"""
    with socket.socket() as s:
        s.bind(("", 0))
        return ray.util.get_node_ip_address(), str(s.getsockname()[1])


def _random_name() -> str:
    # Not from the run's seed: two runs on one cluster must not share names.
    return "".join(random.SystemRandom().choices(string.ascii_letters + string.digits, k=6))
