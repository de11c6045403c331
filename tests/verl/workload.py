"""A real verl job for the CPU: one TaskRunner, one RayWorkerGroup of N ranks with two colocated roles (actor, critic).

    python workload.py STEPS [--ranks N] [--breakpoint-rank R]

Joins the cluster of RAY_ADDRESS, else the running one. Needs requirements/verl.lock. Prints what it did at the end.
"""

# A user's job: verl and Ray's decorators have no types.
# mypy: ignore-errors

import argparse
import time

import ray
import torch
from verl.single_controller.base import Worker
from verl.single_controller.base.decorator import Dispatch, register
from verl.single_controller.ray.base import (
    RayClassWithInitArgs,
    RayResourcePool,
    RayWorkerGroup,
    create_colocated_worker_cls,
)


@ray.remote
class Actor(Worker):
    def __init__(self, config=None):
        super().__init__()
        torch.manual_seed(0)
        self.policy = torch.nn.Linear(64, 64)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def generate_sequences(self, step):
        time.sleep(0.05)
        return self.rank

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def update_actor(self, step, stop_at):
        loss = self.policy(torch.ones(4, 64)).sum()
        if self.rank == stop_at:
            breakpoint()
        return float(loss)


@ray.remote
class Critic(Worker):
    def __init__(self, config=None):
        super().__init__()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def compute_values(self, step):
        time.sleep(0.03)
        return self.rank


@ray.remote(num_cpus=0)
class TaskRunner:
    def run(self, steps, ranks, stop_at):
        pool = RayResourcePool([ranks], use_gpu=False, max_colocate_count=2)
        workers = create_colocated_worker_cls(
            {
                "actor": RayClassWithInitArgs(Actor, config=None),
                "critic": RayClassWithInitArgs(Critic, config=None),
            }
        )
        group = RayWorkerGroup(resource_pool=pool, ray_cls_with_init=workers)
        roles = group.spawn(prefix_set=["actor", "critic"])
        for step in range(steps):
            roles["actor"].generate_sequences(step)
            roles["critic"].compute_values(step)
            roles["actor"].update_actor(step, stop_at if step == steps - 1 else None)
        return f"{steps} steps on {ranks} ranks"


if __name__ == "__main__":
    args = argparse.ArgumentParser()
    args.add_argument("steps", type=int)
    args.add_argument("--ranks", type=int, default=2)
    args.add_argument("--breakpoint-rank", type=int, default=None)
    a = args.parse_args()
    ray.init(address="auto", log_to_driver=False)
    print(ray.get(TaskRunner.remote().run.remote(a.steps, a.ranks, a.breakpoint_rank)))
