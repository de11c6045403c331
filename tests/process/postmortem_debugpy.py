"""A debuggee that stops at an exception the way Ray's post-mortem does, and then in a coroutine among others."""

from __future__ import annotations

import asyncio
import json
import sys
import threading


def inner(secret: int) -> int:
    items = [1, 2, 3]
    return items[secret]


def outer() -> int:
    where = "outer"
    return inner(42) + len(where)


def _debugpy_excepthook() -> None:
    # As ray.util.debugpy does it.
    import pydevd

    debugger = pydevd.get_global_debugger()
    thread = threading.current_thread()
    info = debugger.set_additional_thread_info(thread)
    info.is_tracing += 1
    try:
        error = sys.exc_info()
        debugger.stop_on_unhandled_exception(debugger, thread, info, error)
    finally:
        info.is_tracing -= 1


def crash() -> None:
    import debugpy

    try:
        try:
            outer()
        except IndexError as error:
            raise RuntimeError("bad batch") from error
    except RuntimeError:
        debugpy.wait_for_client()
        _debugpy_excepthook()


async def waits(event: asyncio.Event) -> None:
    await event.wait()


async def stops(event: asyncio.Event) -> None:
    import debugpy

    debugpy.breakpoint()
    event.set()


async def loop() -> None:
    event = asyncio.Event()
    tasks = [asyncio.create_task(waits(event), name="patient") for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.create_task(stops(event), name="stopping")
    await asyncio.gather(*tasks)


def main() -> None:
    import debugpy

    _, port = debugpy.listen(("127.0.0.1", 0))
    print(json.dumps({"port": port}), flush=True)
    crash()
    asyncio.run(loop())
    print(json.dumps({"ended": True}), flush=True)


if __name__ == "__main__":
    main()
