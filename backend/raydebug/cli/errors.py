"""How a command ends that can't do it: 1 found an error, 2 bad usage, 3 no cluster or hub there, 4 not allowed."""

from __future__ import annotations

import click


class CommandError(click.ClickException):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)


class UnreachableError(CommandError):
    """No cluster, or no hub in it."""

    exit_code = 3


class NotAllowedError(CommandError):
    exit_code = 4
