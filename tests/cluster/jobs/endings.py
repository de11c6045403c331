"""Every way for an actor to end or to come back, then the job waits for a line on stdin and ends."""

import os
import sys
import time

import ray


@ray.remote(num_cpus=0)
class Mortal:
    def __init__(self, fail=False):
        if fail:
            raise ValueError("can't be built")

    def die(self):
        os._exit(3)

    def leave(self):
        ray.actor.exit_actor()

    def pid(self):
        return os.getpid()


ray.init()
restarting = Mortal.options(name="restarting", max_restarts=2).remote()
ray.get(restarting.pid.remote())
restarting.die.remote()
while True:
    try:
        ray.get(restarting.pid.remote())
        break
    except ray.exceptions.RayActorError:
        time.sleep(0.2)

crashed, killed, left = (Mortal.options(name=name).remote() for name in ("crashed", "killed", "left"))
ray.get([actor.pid.remote() for actor in (crashed, killed, left)])
crashed.die.remote()
left.leave.remote()
ray.kill(killed)
unborn = Mortal.options(name="unborn").remote(fail=True)
pending = Mortal.options(name="pending", num_cpus=1000).remote()
kept = Mortal.options(name="kept", lifetime="detached").remote()
ray.get(kept.pid.remote())
print("all there", flush=True)
sys.stdin.readline()
