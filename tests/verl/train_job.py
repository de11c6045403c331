"""A Ray Train job on the CPU: two workers; one stops at a breakpoint in its training function."""

import time

import ray
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    import torch

    model = ray.train.torch.prepare_model(torch.nn.Linear(4, 4))
    for step in range(10_000):
        model(torch.ones(2, 4)).sum().backward()
        time.sleep(0.2)
        if step == 2 and ray.train.get_context().get_world_rank() == 1:
            breakpoint()  # the place


if __name__ == "__main__":
    import sys

    ray.init(log_to_driver=False)
    TorchTrainer(
        loop,
        train_loop_config={},
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 0.5}),
        run_config=RunConfig(storage_path=sys.argv[1]),
    ).fit()
