"""Actors whose methods run and end all the time, as those of a training step do: ``calls.py ACTORS``."""

import sys
import time

import ray


@ray.remote(num_cpus=0)
class Rank:
    def forward(self):
        time.sleep(0.4)

    def backward(self):
        time.sleep(0.4)


ray.init(log_to_driver=False)
ranks = [Rank.remote() for _ in range(int(sys.argv[1]))]
ray.get([rank.forward.remote() for rank in ranks])
print("READY", flush=True)
while True:
    ray.get([rank.forward.remote() for rank in ranks])
    ray.get([rank.backward.remote() for rank in ranks])
