"""Actors that stop at a breakpoint when told to by a line on stdin: ``warm N``, ``hit``, ``fresh``, ``kill``.

Each hit writes a line ``worker_id hit_ns listening_ns`` to the file named on the command line: when the actor came to
its breakpoint, and when Ray had its debugger ready there, which ``breakpoint()`` does before it tells anybody.
"""

import sys
import time

import ray
from ray.util.debugpy import _ensure_debugger_port_open_thread_safe, _override_breakpoint_hooks


@ray.remote(num_cpus=0)
class Rank:
    def ready(self):
        return ray.get_runtime_context().get_worker_id()

    def step(self, path):
        worker_id = ray.get_runtime_context().get_worker_id()
        hit_ns = time.time_ns()
        _ensure_debugger_port_open_thread_safe()
        listening_ns = time.time_ns()
        _override_breakpoint_hooks()  # listening took them
        with open(path, "a") as f:
            f.write(f"{worker_id} {hit_ns} {listening_ns}\n")
        breakpoint()  # here


ray.init(log_to_driver=False)
path = sys.argv[1]
idle, stopped = [], []
print("READY", flush=True)
for line in sys.stdin:
    word, _, number = line.strip().partition(" ")
    if word == "warm":
        idle += [Rank.remote() for _ in range(int(number))]
        ray.get([rank.ready.remote() for rank in idle])
    elif word in ("hit", "fresh"):
        rank = idle.pop() if word == "hit" else Rank.remote()
        rank.step.remote(path)
        stopped.append(rank)
    elif word == "kill":
        for rank in stopped:
            ray.kill(rank)
        stopped.clear()
    print("DONE", word, flush=True)
