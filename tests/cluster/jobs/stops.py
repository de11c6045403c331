"""Stops of every kind: a threaded actor with two paused threads, an async actor, a normal task, and the driver."""

import time

import ray


@ray.remote(num_cpus=0, max_concurrency=3)
class Threaded:
    def first(self):
        breakpoint()  # first

    def second(self):
        breakpoint()  # second

    def other(self):
        time.sleep(10_000)


@ray.remote(num_cpus=0)
class Async:
    async def step(self):
        breakpoint()  # async


@ray.remote(num_cpus=0)
def task():
    breakpoint()  # task


ray.init()
threaded, asynchronous = Threaded.remote(), Async.remote()
calls = [threaded.first.remote(), threaded.second.remote(), threaded.other.remote(), asynchronous.step.remote()]
calls.append(task.remote())
breakpoint()  # driver
