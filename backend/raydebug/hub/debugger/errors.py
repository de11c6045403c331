"""Why a command of the debugger wasn't done."""

from __future__ import annotations

from raydebug.hub.access.errors import AccessError


class DebugError(AccessError):
    """``code``: ``not_attached``, ``running``, ``busy``, ``gone``, ``failed``, ``held``, ``lost``."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(409, code, message, hint)
