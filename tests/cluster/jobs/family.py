"""A driver with a runner that owns a group, threaded and async actors, a normal task that owns a detached actor.

Rank 1 of the group stops at a breakpoint in its third step.
"""

import asyncio
import time

import ray


@ray.remote(num_cpus=0)
class Worker:
    def step(self, number, rank):
        if number == 2 and rank == 1:
            breakpoint()  # the place
        time.sleep(0.2)
        return number


@ray.remote(num_cpus=0)
class Runner:
    def run(self):
        workers = [Worker.options(name=f"worker-{rank}").remote() for rank in range(2)]
        for number in range(10_000):
            ray.get([worker.step.remote(number, rank) for rank, worker in enumerate(workers)])


@ray.remote(num_cpus=0, max_concurrency=4)
class Threaded:
    def work(self, seconds):
        time.sleep(seconds)


@ray.remote(num_cpus=0)
class Async:
    async def work(self, seconds):
        await asyncio.sleep(seconds)


@ray.remote(num_cpus=0)
def parent_task():
    kept = Worker.options(name="from a task", lifetime="detached").remote()
    ray.get(kept.step.remote(0, 0))
    time.sleep(10_000)


ray.init()
threaded, asynchronous = Threaded.remote(), Async.remote()
calls = [threaded.work.remote(10_000) for _ in range(3)] + [asynchronous.work.remote(10_000), parent_task.remote()]
runner = Runner.options(name="runner").remote()
ray.get(runner.run.remote())
