"""One actor per node, each held at a breakpoint."""

import time

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


@ray.remote(num_cpus=0)
class Worker:
    def step(self):
        breakpoint()  # everywhere


ray.init()
nodes = [node["NodeID"] for node in ray.nodes()]
workers = [
    Worker.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote() for node in nodes
]
calls = [worker.step.remote() for worker in workers]
while True:  # a driver that outlives its actors
    time.sleep(1)
