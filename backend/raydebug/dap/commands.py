"""What may be sent to debugpy. A command that it doesn't know gets no answer and wedges the session for good, so only
those on this list ever reach it, whatever a client sends."""

from __future__ import annotations

from typing import Final

ALLOWED: Final = frozenset(
    {
        "attach",
        "completions",
        "configurationDone",
        "continue",
        "disconnect",
        "evaluate",
        "exceptionInfo",
        "goto",
        "gotoTargets",
        "initialize",
        "modules",
        "next",
        "pause",
        "scopes",
        "setBreakpoints",
        "setExceptionBreakpoints",
        "setExpression",
        "setFunctionBreakpoints",
        "setVariable",
        "source",
        "stackTrace",
        "stepIn",
        "stepInTargets",
        "stepOut",
        "threads",
        "variables",
    }
)
"""Left out of what debugpy knows: ``launch``, ``terminate`` and its own ``pydevd…`` and ``debugpy…`` requests."""
