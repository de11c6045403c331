"""64 threads that wait at one place, of four actors. Ends when all have gone on."""

import ray


@ray.remote(num_cpus=0, max_concurrency=16)
class Many:
    def wait(self, number):
        breakpoint()  # many
        return number


ray.init()
actors = [Many.remote() for _ in range(4)]
print(sum(ray.get([actor.wait.remote(number) for actor in actors for number in range(16)])), flush=True)
