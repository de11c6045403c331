"""Workers that stop and are ended while they stand. ``ends.py driver``: the driver itself. ``ends.py held``: again and
again. ``ends.py far``: on the node with the resource ``far``. Else three; one is killed once the file ARG is there."""

import os
import sys
import time

import ray


@ray.remote(num_cpus=0)
class Actor:
    def killed(self):
        breakpoint()  # killed

    def crashed(self):
        breakpoint()  # crashed

    def orphan(self):
        breakpoint()  # orphan

    def far(self):
        breakpoint()  # far

    def again(self):
        turns = 0
        while True:
            turns += 1
            breakpoint()  # held
            time.sleep(0.2)


@ray.remote(num_cpus=0, max_concurrency=3)
class Stuck:
    def __init__(self):
        import threading

        self.lock = threading.Lock()
        self.lock.acquire()

    def one(self):
        number = 1
        breakpoint()  # one
        return number

    def other(self):
        number = 2
        breakpoint()  # other
        return number


ray.init()
kind = sys.argv[1]
if kind == "driver":
    breakpoint()  # driver
elif kind == "held":
    ray.get(Actor.remote().again.remote())
elif kind == "far":
    ray.get(Actor.options(resources={"far": 1}).remote().far.remote())
elif kind == "stuck":
    actor = Stuck.remote()
    print("GAVE", ray.get([actor.one.remote(), actor.other.remote()]), flush=True)
else:
    killed, crashed, orphan = Actor.remote(), Actor.remote(), Actor.remote()
    calls = [killed.killed.remote(), crashed.crashed.remote(), orphan.orphan.remote()]
    while not os.path.exists(kind):
        time.sleep(0.05)
    ray.kill(killed)
    time.sleep(1000)
