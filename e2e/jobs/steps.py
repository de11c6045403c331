"""Two ranks that go through the same three calls in each step, for ever; one call has failed before that, one
retried."""

import contextlib
import os
import tempfile
import time

import ray


@ray.remote(num_cpus=0)
class Rank:
    def generate(self):
        time.sleep(0.06)

    def score(self):
        time.sleep(0.03)

    def update(self):
        time.sleep(0.05)

    def break_down(self):
        raise ValueError("<b>this one</b> breaks")


@ray.remote(num_cpus=0, max_retries=1, retry_exceptions=True)
def flaky(path):
    try:
        open(path, "x").close()
    except FileExistsError:
        return
    raise RuntimeError("the first time")


ray.init()
ranks = [Rank.remote() for _ in range(2)]
with contextlib.suppress(ValueError):
    ray.get(ranks[1].break_down.remote())
ray.get(flaky.remote(os.path.join(tempfile.mkdtemp(), "once")))
while True:
    for method in ("generate", "score", "update"):
        ray.get([getattr(rank, method).remote() for rank in ranks])
