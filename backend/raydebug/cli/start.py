"""``raydebug start``: ``ray start`` whose cluster pushes its task events."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

_NO_PUSH = "This Ray can't push task events (2.49 and later can): the timeline asks for them instead."


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []})
@click.option(
    "--print-config", is_flag=True, help="Print the settings, for KubeRay or a script of your own; start nothing."
)
@click.option("--json", "as_json", is_flag=True, help="With --print-config: as JSON.")
@click.option("-h", "--help", "wants_help", is_flag=True, help="Show this, then Ray's own help.")
@click.argument("ray_arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def start(
    ctx: click.Context, print_config: bool, as_json: bool, wants_help: bool, ray_arguments: tuple[str, ...]
) -> None:
    """Start Ray as `ray start` does, with push: the timeline is live at any number of tasks.

    All arguments go on to `ray start`. With --head its cluster is told to push task events to raydebug (the system
    config reaches every node, driver and worker by itself); a node that joins needs nothing, plain `ray start` will do.
    """
    from raydebug import ray_compat

    config = ray_compat.push_config()
    if wants_help:
        click.echo(ctx.get_help() + "\n\nOptions of `ray start`:\n")
        _ray(["start", "--help"])
    if print_config:
        click.echo(json.dumps({"system_config": config or {}}) if as_json else _printed(config))
        return
    if as_json:
        raise click.UsageError("--json goes with --print-config only.")
    arguments = list(ray_arguments)
    if "--head" in arguments:
        if config is None:
            click.echo(_NO_PUSH, err=True)
        else:
            arguments = with_config(arguments, config)
    _ray(["start", *arguments])


def with_config(arguments: Sequence[str], config: dict[str, Any]) -> list[str]:
    """The arguments with our system config; what the user gave wins. Raises UsageError for what is no JSON object."""
    kept: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name != "--system-config":
            kept.append(argument)
            continue
        text = value if equals else next(rest, "")
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise click.UsageError(f"--system-config: expected a JSON object, not {text[:100]!r}.")
        given |= found
    return [*kept, f"--system-config={json.dumps({**config, **given})}"]


def _printed(config: dict[str, Any] | None) -> str:
    if config is None:
        return f"# {_NO_PUSH}"
    text = json.dumps(config)
    return f"""\
# With `ray start`, on the head only; nodes, drivers and workers get it from there:
#   ray start --head --system-config='{text}'
# With KubeRay, in the RayCluster:
spec:
  headGroupSpec:
    rayStartParams:
      system-config: '{json.dumps(text)}'"""


def _ray(arguments: Sequence[str]) -> None:
    """Become ``ray``: its signals, its exit code."""
    script = Path(sys.executable).with_name("ray")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "ray.scripts.scripts"]
    sys.stdout.flush()
    os.execv(command[0], [*command, *arguments])
