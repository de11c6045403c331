"""What to do with the demo once it trains: commands that can be pasted as they are."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from raydebug.demo.options import Options

_DEFAULT_URL: Final = "http://127.0.0.1:8265"
"""Where raydebug's commands look by themselves."""
_OTHERS: Final = ("RAYDEBUG_ADDRESS", "RAY_ADDRESS")


def next_steps(url: str, options: Options, env: Mapping[str, str]) -> Iterator[str]:
    """``url``: the dashboard's. ``env``: of the command; RAYDEBUG_DEMO_COMMAND is what `raydebug` is called there."""
    program = env.get("RAYDEBUG_DEMO_COMMAND") or "raydebug"
    if url != _DEFAULT_URL or any(env.get(name) for name in _OTHERS):
        program = f"RAYDEBUG_ADDRESS={shlex.quote(url)} {program}"
    commands = [(f"{program} url", "prints the link that signs you in, which attaching needs")]
    commands += [(f"{program} ps --ranks", "what each rank does now")]
    held = sorted({point.rank for point in options.breakpoints | options.crashes})
    if held:
        commands += [(f"{program} paused", "who waits, and where")]
        for rank in held:
            target = f"actor_rollout:{rank}"
            commands += [(f"{program} attach {target}", "a console on it; the page has the same")]
            commands += [(f"{program} continue {target}", "lets it go on")]
    yield f"open {url}/debug"
    yield "in another terminal:"
    width = max(len(command) for command, _ in commands)
    yield from (f"  {command:<{width}}  # {does}" for command, does in commands)
