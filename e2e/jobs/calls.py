"""One actor that stops before a line with several calls, then 400 calls deep, over and over."""

import ray


def twice(number):
    doubled = number * 2
    return doubled


def plus(number, other):
    total = number + other
    return total


def down(left):
    if left == 0:
        breakpoint()
        return 0
    return 1 + down(left - 1)


@ray.remote(num_cpus=0)
class Caller:
    def work(self):
        while True:
            number = 255
            numbers = {"mask": 4080, "list": [16, -17]}
            breakpoint()
            total = plus(twice(number), twice(1))
            total += 1
            depth = down(400)
            del total, depth, numbers


ray.init()
ray.get(Caller.remote().work.remote())
