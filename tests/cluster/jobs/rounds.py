"""A place that comes again and again, and behind it a line for every command of the debugger."""

import threading
from concurrent.futures import ThreadPoolExecutor

import click
import ray


def inner(number):
    doubled = number * 2
    return doubled  # inner


def outer(number, more):
    total = number + more
    return total  # outer


def down(left):
    if left == 0:
        return 0  # bottom
    return 1 + down(left - 1)


def escapes():
    raise LookupError("escapes")  # escapes


def dies():
    raise RuntimeError("dies")  # dies


@ray.remote(num_cpus=0)
class Actor:
    def __init__(self):
        self.value = 1
        self.pool = ThreadPoolExecutor(1)

    def rounds(self):
        number = 0
        while True:
            number += 1
            breakpoint()  # gate
            self.round(number)

    def round(self, number):
        table = {"a": 1}  # first
        total = 0
        for i in range(10):
            total += i  # loop
        total = outer(inner(total), len(table))  # call
        click.unstyle("plain")
        self.caught()  # after call
        self.pool.submit(escapes).exception()
        thread = threading.Thread(target=dies, name="dying")
        thread.start()
        thread.join()
        total += down(400)
        print("round", number, "total", total, table["a"], self.value, flush=True)
        return total  # last

    def caught(self):
        try:
            raise KeyError("caught")  # raised
        except KeyError:
            pass


ray.init()
ray.get(Actor.remote().rounds.remote())
