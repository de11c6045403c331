"""Two actors that step until they are ended; each round is told on stdout."""

import os
import time

import ray


@ray.remote(num_cpus=0)
class Rank:
    def step(self):
        time.sleep(0.05)
        return os.getpid()


ray.init(log_to_driver=False)
ranks = [Rank.remote() for _ in range(2)]
number = 0
while True:
    pids = ray.get([rank.step.remote() for rank in ranks])
    number += 1
    print("STEP", number, *pids, flush=True)
