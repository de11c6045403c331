"""What to do with the demo once it trains: commands that can be pasted as they are."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from raydebug.demo.options import Options

_DEFAULT_URL: Final = "http://127.0.0.1:8265"
"""Where raydebug's commands look by themselves."""
_FAILS: Final = "lets its crash fail the task: the training ends with it"
_OTHERS: Final = ("RAYDEBUG_ADDRESS", "RAY_ADDRESS")


def program_of(argv0: str, executable: str, env: Mapping[str, str]) -> str:
    """What `raydebug` is called by whoever ran ``argv0``, shell-quoted; RAYDEBUG_DEMO_COMMAND says it outright."""
    if env.get("RAYDEBUG_DEMO_COMMAND"):
        return env["RAYDEBUG_DEMO_COMMAND"]
    if Path(argv0).name != "raydebug":  # python -m
        return f"{shlex.quote(executable)} -m raydebug.cli"
    # A shell that finds it on PATH hands over the whole path.
    return "raydebug" if argv0 == shutil.which("raydebug", path=env.get("PATH", "")) else shlex.quote(argv0)


def next_steps(url: str, options: Options, env: Mapping[str, str], program: str) -> Iterator[str]:
    """``url``: the dashboard's. ``env``: of the command. ``program``: what `raydebug` is called."""
    if url != _DEFAULT_URL or any(env.get(name) for name in _OTHERS):
        program = f"RAYDEBUG_ADDRESS={shlex.quote(url)} {program}"
    commands = [(f"{program} url", "prints the link that signs you in, which attaching needs")]
    commands += [(f"{program} ps --ranks", "what each rank does now")]
    stop = {point.rank for point in options.breakpoints}
    crash = {point.rank for point in options.crashes}
    held = sorted(stop | crash)
    if held:
        commands += [(f"{program} paused", "who waits, and where")]
        for rank in held:
            target = f"actor_rollout:{rank}"
            commands += [(f"{program} attach {target}", "a console on it; the page has the same")]
            goes_on = ["lets it go on"] if rank in stop else []
            goes_on += [_FAILS] if rank in crash else []
            commands += [(f"{program} continue {target}", "; ".join(goes_on))]
    yield f"open {url}/debug"
    yield "in another terminal:"
    width = max(len(command) for command, _ in commands)
    yield from (f"  {command:<{width}}  # {does}" for command, does in commands)
