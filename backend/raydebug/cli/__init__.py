"""The command ``raydebug``. A command's module is imported only when that command runs."""

from __future__ import annotations

import importlib
from typing import Any, Final

import click

from raydebug import __version__
from raydebug.cli.output import output_guard

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "attach": ("raydebug.cli.attach:attach", "A console in the terminal on one stopped worker."),
    "continue": ("raydebug.cli.evaluate:resume", "Let stopped workers go on."),
    "demo": ("raydebug.demo.command:demo", "Run a small training job to try raydebug on."),
    "doctor": ("raydebug.cli.doctor:doctor", "Check the cluster: what is missing, why, and what mends it."),
    "eval": ("raydebug.cli.evaluate:evaluate", "Evaluate an expression on one stopped rank, or on many at once."),
    "grant": ("raydebug.cli.grant:grant", "Give a teammate a link with limited rights; list and revoke them."),
    "install-plugin": ("raydebug.cli.install:install_plugin", "Put the plugin into a Ray in another environment."),
    "paused": ("raydebug.cli.topology:paused", "Where workers and drivers wait at a breakpoint."),
    "ps": ("raydebug.cli.topology:ps", "Jobs, WorkerGroups and ranks, and what each does now."),
    "remove-plugin": ("raydebug.cli.install:remove_plugin", "Take the plugin out again."),
    "serve": ("raydebug.cli.serve:serve", "Run raydebug's server alone, for a cluster whose dashboard can't be used."),
    "start": ("raydebug.cli.start:start", "Start Ray with push: as `ray start`, and the timeline is live at any size."),
    "url": ("raydebug.cli.url:url", "Print the link that opens the page as debugger."),
}
"""Name -> where the command is, and its line in ``raydebug --help``."""


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        target, _ = COMMANDS[cmd_name]
        module, _, attribute = target.partition(":")
        try:
            command: Any = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name is not None and not (error.name + ".").startswith("raydebug."):
                raise click.ClickException(f"`raydebug {cmd_name}` needs the package {error.name}.") from error
            raise click.ClickException(f"This build of raydebug {__version__} has no `{cmd_name}`.") from error
        assert isinstance(command, click.Command)
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with output_guard():
            return super().main(*args, **kwargs)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="raydebug")
def main() -> None:
    """A debugger for training jobs on Ray. The page is at http://HEAD:8265/debug."""


__all__ = ["COMMANDS", "main"]
