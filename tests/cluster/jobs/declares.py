"""Two ranks that say which step they begin, each its own; the driver makes the same calls in each step."""

import sys
import time

import ray

import raydebug


@ray.remote(num_cpus=0)
class Rank:
    def forward(self, number):
        raydebug.step(number)
        time.sleep(0.01)

    def backward(self):
        time.sleep(0.01)


ray.init()
ranks = [Rank.remote() for _ in range(2)]
first, last = int(sys.argv[1]), int(sys.argv[2])
for number in range(first, last + 1):
    print(f"{number} {time.time_ns()}", flush=True)
    ray.get([rank.forward.remote(number) for rank in ranks])
    ray.get([rank.backward.remote() for rank in ranks])
print("DONE", flush=True)
input()
