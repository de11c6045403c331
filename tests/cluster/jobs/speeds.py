"""How fast Python runs in threads of every kind, before a breakpoint and after it: a line of JSON for each round."""

import json
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import ray

CALLS = 20_000


def small(number):
    return number + 1


def speed():
    """What a loop of calls takes, in sums of numbers: those run in C, untouched by tracing, but as slowly as the loop
    where the machine is slow."""
    ratios = []
    for _ in range(20):
        begun = time.thread_time()
        sum(range(CALLS))
        between = time.thread_time()
        number = 0
        for _ in range(CALLS):
            number = small(number)
        ratios.append((time.thread_time() - between) / (between - begun))
    return sorted(ratios)[len(ratios) // 2]


@ray.remote(num_cpus=0)
class Actor:
    def __init__(self):
        self.hold = True
        self.pool = ThreadPoolExecutor(1)
        self.pool.submit(speed).result()
        self.work, self.done = queue.SimpleQueue(), queue.SimpleQueue()
        threading.Thread(target=self.background, daemon=True, name="old").start()

    def background(self):
        while True:
            self.done.put(self.work.get()())

    def in_new(self, function):
        found = []
        thread = threading.Thread(target=lambda: found.append(function()), name="new")
        thread.start()
        thread.join()
        return found[0]

    def everywhere(self, function):
        self.work.put(function)
        found = {"old": self.done.get()}
        found["pool"] = self.pool.submit(function).result()
        found["new"] = self.in_new(function)
        found["main"] = function()
        return found

    def marked(self):
        value = 41
        return value + 1  # marked

    def round(self, number):
        speeds = self.everywhere(speed)
        marks = self.everywhere(self.marked)
        return {"round": number, "speeds": speeds, "marks": marks}

    def stop(self):
        self.hold = True
        breakpoint()  # stop
        while self.hold:
            time.sleep(0.01)


ray.init()
actor = Actor.remote()
for number in range(1000):
    print("ROUND", json.dumps(ray.get(actor.round.remote(number))), flush=True)
    ray.get(actor.stop.remote())
