"""Actors to debug. ``debugged.py``, told on stdin: ``speeds``: of a loop in four kinds of threads of both actors;
``stop NAME``: it comes to its breakpoint, and again each time it goes on; ``port NAME``; ``release NAME``: no more.

Answers are lines of JSON.
"""

import json
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import ray

CALLS, TIMES = 10_000, 60


def small(number):
    return number + 1


def speed():
    """CPU seconds of many small calls, in the best of moments: what else runs on this machine doesn't count."""
    best = float("inf")
    for _ in range(TIMES):
        start = time.thread_time()
        number = 0
        for _ in range(CALLS):
            number = small(number)
        best = min(best, time.thread_time() - start)
    return best


@ray.remote(num_cpus=0, max_concurrency=3)
class Rank:
    def __init__(self):
        self.work, self.done = queue.SimpleQueue(), queue.SimpleQueue()
        threading.Thread(target=self._background, daemon=True).start()
        self.pool = ThreadPoolExecutor(1)
        self.pool.submit(speed).result()
        self.go_on = True

    def _background(self):
        while True:
            self.done.put(self.work.get()())

    def ids(self):
        worker = ray._private.worker.global_worker
        return ray.get_runtime_context().get_worker_id(), worker.node_ip_address, worker.debugger_port

    def release(self):
        self.go_on = False

    def _everywhere(self):
        found = {"main": speed(), "pool": self.pool.submit(speed).result()}
        self.work.put(speed)
        found["background"] = self.done.get()
        new = threading.Thread(target=lambda: found.update(new=speed()))
        new.start()
        new.join()
        return found

    def stop_and_time(self):
        self._everywhere()  # the interpreter warms up
        before = self._everywhere()
        items, text, table = list(range(5000)), "a" * 5000, {"loss": 0.5, "step": 7}
        breakpoint()
        return before, self._everywhere(), len(items) + len(text) + len(table)

    def stop_again_and_again(self):
        items, text, table = list(range(5000)), "a" * 5000, {"loss": 0.5, "step": 7}
        count = 0
        while self.go_on:
            count += 1
            breakpoint()
            count += 1
            count -= len(table)
            count += len(table)
            count -= 1
        return len(items) + len(text)


ray.init(log_to_driver=False)
ranks, running = {}, {}
print(json.dumps("READY"), flush=True)
for line in sys.stdin:
    word, _, name = line.strip().partition(" ")
    if word == "make":
        ranks[name] = Rank.remote()
        answer = ray.get(ranks[name].ids.remote())
    elif word == "ids":
        answer = ray.get(ranks[name].ids.remote())
    elif word == "time":
        running[name] = ranks[name].stop_and_time.remote()
        answer = None
    elif word == "stop":
        running[name] = ranks[name].stop_again_and_again.remote()
        answer = None
    elif word == "release":
        answer = ray.get(ranks[name].release.remote())
    elif word == "timed":
        answer = ray.get(running.pop(name))
    else:
        ray.kill(ranks.pop(name))
        answer = None
    print(json.dumps(answer), flush=True)
