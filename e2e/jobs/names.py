"""Actors with names that are markup, two places where one waits at a breakpoint, and a group to walk in."""

import time

import ray

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


class Plain:
    def wait(self):
        return None

    def first_stop(self):
        breakpoint()

    def second_stop(self):
        breakpoint()


Hostile = ray.remote(num_cpus=0)(type('<b onclick="alert(1)">Hostile', (Plain,), {}))
Rank = ray.remote(num_cpus=0)(type("Rank", (Plain,), {}))

ray.init()
hostile = Hostile.options(name=HOSTILE).remote()
ranks = [Rank.options(name=f"rank-{number}").remote() for number in range(3)]
ray.get([one.wait.remote() for one in [hostile, *ranks]])
calls = [hostile.first_stop.remote()]
time.sleep(2)  # the order in which the page lists them
calls.append(ranks[1].second_stop.remote())
ray.get(calls)
