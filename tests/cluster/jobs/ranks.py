"""A group of three ranks; each stops in ``train``, rank 1 with another value."""

import sys
import time

import ray


@ray.remote(num_cpus=0)
class Rank:
    def __init__(self, rank):
        self.rank = rank
        self.steps = 0

    def train(self, step):
        loss = 7.25 if self.rank == 1 else 0.5
        name = "\x1b[31mhostile\x1b[0m"
        breakpoint()  # the place
        doubled = self.double(loss)  # the call
        print(f"rank {self.rank} step {step} doubled {doubled}", len(name))  # the print
        self.steps += 1
        return doubled

    def double(self, value):
        result = value * 2  # the callee
        return result

    def idle(self):
        return self.steps


ray.init()
ranks = [Rank.options(runtime_env={"env_vars": {"RANK": str(rank)}}).remote(rank) for rank in range(3)]
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
for step in range(steps):
    ray.get([rank.train.remote(step) for rank in ranks])
time.sleep(10_000)
