"""Exceptions that Ray's post-mortem freezes: in an actor and in a normal task."""

import ray


@ray.remote(num_cpus=0)
class Actor:
    def step(self, value):
        return self.deeper(value)

    def deeper(self, value):
        raise ValueError(f"bad value {value}")  # actor


@ray.remote(num_cpus=0)
def task(value):
    return 1 / value  # task


ray.init(runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})
actor = Actor.remote()
ray.get([actor.step.remote(7), task.remote(0)])
