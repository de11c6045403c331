"""An actor that runs in a mount namespace of its own, with a module that is only there. The arguments: the script that
begins it, the module's folder."""

import sys

import ray


@ray.remote(num_cpus=0)
class Actor:
    def rounds(self, folder):
        sys.path.insert(0, folder)
        import image

        number = 0
        while True:
            number += 1
            breakpoint()  # gate
            print("round", number, image.work(number), flush=True)


ray.init()
actor = Actor.options(runtime_env={"py_executable": sys.argv[1]}).remote()
ray.get(actor.rounds.remote(sys.argv[2]))
