"""N short calls on a few actors, as fast as they go; says how long that took.

python many.py N [--keep]    --keep: stays until a line comes on stdin
"""

import sys
import time

import ray

COUNT = int(sys.argv[1])


@ray.remote(num_cpus=0)
class Rank:
    def call(self):
        return None


ray.init(log_to_driver=False)
ranks = [Rank.remote() for _ in range(4)]
ray.get([rank.call.remote() for rank in ranks])
began = time.perf_counter()
for at in range(0, COUNT, 1000):
    ray.get([ranks[number % 4].call.remote() for number in range(at, min(COUNT, at + 1000))])
print(f"TOOK {time.perf_counter() - began}", flush=True)
for line in sys.stdin:
    if line.startswith("once"):
        print(f"AT {time.time_ns()} {ranks[0].call.remote().task_id().hex()}", flush=True)
    else:
        break
