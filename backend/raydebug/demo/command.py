"""``raydebug demo``. Imports neither torch nor ray until it runs, so that the command line stays quick without them."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from raydebug.demo.next_steps import next_steps, program_of
from raydebug.demo.options import Options, Point

NO_TORCH = """the demo trains with torch, which isn't installed here. Install the CPU build, before anything that asks \
for a range of versions:
    pip install torch==2.13.0
    pip install 'raydebug[demo]'"""


def _points(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> frozenset[Point]:
    try:
        return frozenset(map(Point.parse, values))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _fail(message: str, exit_code: int) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(exit_code)


@click.command()
@click.option("--steps", type=click.IntRange(min=1), help="End after this many steps.  [default: train until stopped]")
@click.option("--ranks", type=click.IntRange(2, 64), default=2, show_default=True, help="Ranks of actor_rollout.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Equal seeds train equally.")
@click.option(
    "--address",
    help="HOST:PORT of the cluster's GCS; local: start a head.  [default: RAY_ADDRESS, the running cluster, a head]",
)
@click.option(
    "--breakpoint",
    "breakpoints",
    metavar="STEP:RANK",
    callback=_points,
    multiple=True,
    help="Stop at a breakpoint() in the update of this step (from 1) on this rank (from 0). Repeatable.",
)
@click.option(
    "--crash",
    "crashes",
    metavar="STEP:RANK",
    callback=_points,
    multiple=True,
    help="Raise an exception there; Ray's post-mortem debugger freezes the rank. Repeatable.",
)
@click.option("--declare-steps", is_flag=True, help="Tell the timeline of each step by raydebug.step().")
def demo(
    steps: int | None,
    ranks: int,
    seed: int,
    address: str | None,
    breakpoints: frozenset[Point],
    crashes: frozenset[Point],
    declare_steps: bool,
) -> None:
    """Train a small transformer to sort digits with GRPO, as verl would, for something to look at and to debug.

    Joins the running Ray cluster or starts a head, and trains until stopped (Ctrl-C).
    """
    try:
        options = Options(
            steps=steps,
            ranks=ranks,
            seed=seed,
            breakpoints=breakpoints,
            crashes=crashes,
            declare_steps=declare_steps,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if importlib.util.find_spec("torch") is None:
        _fail(NO_TORCH, exit_code=2)
    with _stoppable():
        _train(options, address)


def _train(options: Options, address: str | None) -> None:
    import ray

    from raydebug.demo import cluster, runner

    try:
        with cluster.joined(address, click.echo) as url:
            if url:
                program = program_of(sys.argv[0], sys.executable, os.environ)
                click.echo("\n".join(next_steps(url, options, os.environ, program)))
            else:
                click.echo("this cluster runs without a dashboard: there is no page to open")
            for point in sorted(options.breakpoints):
                click.echo(f"step {point.step} will stop at a breakpoint on rank {point.rank} of actor_rollout")
            for point in sorted(options.crashes):
                click.echo(f"step {point.step} will crash on rank {point.rank} of actor_rollout, held by post-mortem")
            click.echo(f"starting {options.ranks} ranks of actor_rollout, one of ref, one of reward")
            for report in runner.start(options):
                click.echo(
                    f"step {report.step}  reward {report.reward:.3f}  kl {report.kl:.4f}  "
                    f"grad_norm {report.grad_norm:.3f}  seconds {report.seconds:.2f}"
                )
    except cluster.NoClusterError as error:
        _fail(str(error), exit_code=3)
    except ray.exceptions.RayError as error:
        _fail(f"training failed: {getattr(error, 'cause', None) or error}", exit_code=1)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command in good order: it trains until stopped, so being stopped is no failure."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        click.echo("stopped")
    finally:
        signal.signal(signal.SIGTERM, before)
