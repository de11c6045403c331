"""Three ranks, each of which stops in ``train`` again and again, rank 1 with another value. None waits for another."""

import os
import time

import ray


def double(value):
    result = value * 2  # the callee
    return result


@ray.remote(num_cpus=0)
class Rank:
    def __init__(self, rank):
        self.rank = rank
        self.steps = 0
        self.hold = ""

    def train(self, step):
        loss = 7.25 if self.rank == 1 else 0.5
        name = "\x1b[31mhostile\x1b[0m"
        breakpoint()  # the place
        doubled = double(loss)  # the call
        print(f"rank {self.rank} step {step} doubled {doubled}", len(name))
        self.steps += 1  # the count
        while self.hold and not os.path.exists(self.hold):
            time.sleep(0.05)
        return doubled


ray.init()
ranks = [Rank.options(runtime_env={"env_vars": {"RANK": str(rank)}}).remote(rank) for rank in range(3)]
running = {rank.train.remote(0): (rank, 0) for rank in ranks}
while running:
    (done,), _ = ray.wait(list(running))
    rank, step = running.pop(done)
    running[rank.train.remote(step + 1)] = (rank, step + 1)
