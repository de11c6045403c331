"""Tasks that fail in post-mortem, and what their caller gets once they are let go."""

import asyncio

# ruff: noqa: F841 - variables are there to be seen
import ray


@ray.remote(num_cpus=0)
class Fragile:
    def __init__(self):
        self.state = {"step": 3}

    def step(self, value):
        label = "in step"
        return self.deeper(value, label)

    def deeper(self, value, why):
        secret = value * 6
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError(f"bad value {value}") from error  # sync


@ray.remote(num_cpus=0)
class Async:
    async def step(self, value):
        secret = value * 6
        await asyncio.sleep(0)
        raise ValueError(f"bad value {value}")  # async


@ray.remote(num_cpus=0)
def task(value):
    secret = value * 6
    raise ValueError(f"bad value {value}")  # task


ray.init(runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})
actors = [Fragile.remote(), Async.remote()]
calls = {"sync": actors[0].step.remote(7), "async": actors[1].step.remote(7), "task": task.remote(7)}
while calls:
    done, _ = ray.wait(list(calls.values()))
    kind = next(kind for kind, call in calls.items() if call == done[0])
    try:
        print(kind, "gave", ray.get(calls.pop(kind)), flush=True)
    except ValueError as error:
        print(kind, "failed:", str(error).splitlines()[-1], flush=True)
