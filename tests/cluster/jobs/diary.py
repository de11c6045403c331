"""A job that keeps a diary: every attempt of every task writes down its own start and end.

    python diary.py DIRECTORY [--tasks N]

Each process appends lines to a file of its own in DIRECTORY: ``task id, attempt, name, start ns, end ns or 0, outcome,
worker id, node id, pid, actor id or -``; the driver writes ``submitted``: ``task id, name, before ns, after ns`` around
each submission. Among N tasks: sync, threaded and async actors, normal tasks, exceptions, retried exceptions, and
workers that exit in the middle of a task.
"""

import argparse
import asyncio
import os
import time

import ray


class Entry:
    """One attempt, as it saw itself."""

    def __init__(self, directory, name):
        self.start = time.time_ns()
        self.path = os.path.join(directory, f"ran-{os.getpid()}")
        context = ray.get_runtime_context()
        attempt = ray._private.worker.global_worker.core_worker.get_current_task_attempt_number()
        self.head = f"{context.get_task_id()} {attempt} {name}"
        actor = context.get_actor_id() or "-"
        self.tail = f"{context.get_worker_id()} {context.get_node_id()} {os.getpid()} {actor}"
        self.attempt = attempt

    def write(self, outcome, end):
        with open(self.path, "a") as file:
            file.write(f"{self.head} {self.start} {end} {outcome} {self.tail}\n")

    def done(self, outcome="finished"):
        self.write(outcome, time.time_ns())


@ray.remote(num_cpus=0)
class Rank:
    def forward(self, directory):
        entry = Entry(directory, "Rank.forward")
        entry.done()

    def backward(self, directory, number):
        entry = Entry(directory, "Rank.backward")
        if number % 50 == 7:
            entry.done("failed")
            raise ValueError(f"number {number}")
        entry.done()


@ray.remote(num_cpus=0, max_concurrency=4)
class Threaded:
    def score(self, directory):
        entry = Entry(directory, "Threaded.score")
        time.sleep(0.001)
        entry.done()


@ray.remote(num_cpus=0)
class Async:
    async def fetch(self, directory):
        entry = Entry(directory, "Async.fetch")
        await asyncio.sleep(0.001)
        entry.done()


@ray.remote(num_cpus=1)
def plain(directory):
    entry = Entry(directory, "plain")
    entry.done()


@ray.remote(num_cpus=1, max_retries=2, retry_exceptions=True)
def flaky(directory, fails):
    entry = Entry(directory, "flaky")
    if entry.attempt < fails:
        entry.done("failed")
        raise RuntimeError(f"attempt {entry.attempt}")
    entry.done()


@ray.remote(num_cpus=1, max_retries=1)
def dies(directory):
    entry = Entry(directory, "dies")
    if entry.attempt == 0:
        entry.write("died", 0)
        os._exit(1)
    entry.done()


class Driver:
    def __init__(self, directory):
        self.directory = directory
        self.log = open(os.path.join(directory, "submitted"), "a", buffering=1 << 20)  # noqa: SIM115
        self.pending = []

    def submit(self, name, function, *args):
        before = time.time_ns()
        ref = function.remote(self.directory, *args)
        self.log.write(f"{ref.task_id().hex()} {name} {before} {time.time_ns()}\n")
        self.pending.append(ref)
        if len(self.pending) >= 500:
            self.drain()

    def drain(self):
        ready, _ = ray.wait(self.pending, num_returns=len(self.pending), timeout=600)
        assert len(ready) == len(self.pending)
        self.pending = []
        self.log.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--tasks", type=int, default=20_000)
    args = parser.parse_args()
    ray.init(log_to_driver=False)
    driver = Driver(args.directory)
    ranks = [Rank.remote() for _ in range(4)]
    threaded, asynchronous = Threaded.remote(), Async.remote()
    normal = args.tasks // 10
    for number in range(args.tasks - normal):
        kind = number % 10
        if kind < 4:
            driver.submit("Rank.forward", ranks[number % 4].forward)
        elif kind < 8:
            driver.submit("Rank.backward", ranks[number % 4].backward, number)
        elif kind == 8:
            driver.submit("Threaded.score", threaded.score)
        else:
            driver.submit("Async.fetch", asynchronous.fetch)
    for number in range(normal):
        if number % 100 == 99:
            driver.submit("dies", dies)
        elif number % 10 == 0:
            driver.submit("flaky", flaky, number % 3)
        else:
            driver.submit("plain", plain)
    driver.drain()
    driver.log.close()
    print("WRITTEN", flush=True)
    input()  # stays until it is told to end


if __name__ == "__main__":
    main()
