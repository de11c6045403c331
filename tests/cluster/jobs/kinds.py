"""A breakpoint in every kind of code that Ray runs, hit again and again.

``kinds.py detached``: in a detached actor, which outlives this job.
"""

# ruff: noqa: F841 - variables are there to be seen
import sys
import threading
import time

import ray


def me():
    return ray.get_runtime_context().get_task_id()


@ray.remote(num_cpus=0)
class Sync:
    def work(self, number):
        while True:
            number += 1
            mine = me()
            breakpoint()  # sync
            seen = number


@ray.remote(num_cpus=0)
class Built:
    def __init__(self, number):
        for _ in range(2):
            number += 1
            mine = me()
            breakpoint()  # init
            seen = number
        self.number = number

    def get(self):
        return self.number


@ray.remote(num_cpus=0, max_concurrency=4)
class Threaded:
    def __init__(self):
        self.turning = True

    def first(self, number):
        while True:
            number += 1
            mine = me()
            breakpoint()  # first
            seen = number

    def second(self, number):
        while True:
            number += 1
            mine = me()
            breakpoint()  # second
            seen = number

    def turn(self):
        threading.current_thread().name = "turning"
        turns = 0
        while self.turning:
            turns += 1
            time.sleep(0.001)
        return turns


@ray.remote(num_cpus=0, concurrency_groups={"io": 1, "compute": 1})
class Grouped:
    @ray.method(concurrency_group="io")
    def read(self, number):
        while True:
            number += 1
            mine = me()
            breakpoint()  # io
            seen = number

    @ray.method(concurrency_group="compute")
    def compute(self, number):
        while True:
            number += 1
            mine = me()
            breakpoint()  # compute
            seen = number


@ray.remote(num_cpus=0)
class Async:
    async def wait(self):
        import asyncio

        await asyncio.sleep(10_000)  # waits

    async def work(self, number):
        import asyncio

        while True:
            number += 1
            mine = me()
            breakpoint()  # async
            seen = number
            await asyncio.sleep(0)


@ray.remote(num_cpus=0)
def generates(number):
    while True:
        number += 1
        mine = me()
        breakpoint()  # generator
        seen = number
        yield number


@ray.remote(num_cpus=0)
def task(number):
    while True:
        number += 1
        mine = me()
        breakpoint()  # task
        seen = number


@ray.remote(num_cpus=0)
class Kept:
    def ready(self):
        pass

    def work(self, number):
        while True:
            number += 1
            mine = me()
            breakpoint()  # detached
            seen = number


ray.init()
if sys.argv[1:] == ["detached"]:
    kept = Kept.options(name="kept", lifetime="detached", namespace="kinds").remote()
    ray.get(kept.ready.remote())
    call = kept.work.remote(40)
    time.sleep(1)
    sys.exit()

one, built, threaded, grouped, turns = (kind.remote(*more) for kind, *more in (
    (Sync,), (Built, 40), (Threaded,), (Grouped,), (Async,)))  # fmt: skip
calls = [one.work.remote(40), built.get.remote(), threaded.first.remote(40), threaded.second.remote(40)]
calls += [threaded.turn.remote(), grouped.read.remote(40), grouped.compute.remote(40)]
calls += [turns.wait.remote(), turns.work.remote(40), generates.remote(40), task.remote(40)]
number = 40
while True:
    number += 1
    mine = me()
    breakpoint()  # driver
    seen = number
