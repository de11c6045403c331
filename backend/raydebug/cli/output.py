"""Standard output that can't be written to: a full disk is one line of error, a closed pipe (``| head -1``) none."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Final

import click

_OF_OUTPUT: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE})
"""What writing to an open file fails with. Sockets and opening a file fail with others, or name the file."""


@contextlib.contextmanager
def output_guard() -> Iterator[None]:
    """Whatever a command prints inside ends it with exit code 1 when it can't be written."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (it lives as long as the process)
    try:
        try:
            yield
        finally:
            # Otherwise that fails while the interpreter ends, with words of its own and exit code 120.
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in _OF_OUTPUT or error.filename is not None:
            raise
        _drop_the_rest()
        if error.errno != errno.EPIPE:
            with contextlib.suppress(OSError):
                click.echo(f"Error: the output can't be written: {error.strerror}", err=True)
        raise SystemExit(1) from None


def _drop_the_rest() -> None:
    """What is left in the buffer goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        number = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
