"""Who asks."""

from __future__ import annotations

from typing import Literal

import msgspec

from raydebug.api.access import Role
from raydebug.hub.access.rules import LEAST, at_least

How = Literal["none", "ray_token", "token", "grant", "open"]


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """``jobs`` None: all jobs. ``grant_id``, ``token_print``: what the rights rest on; they end with it.

    ``expires_ns``: no right given on may outlive it. ``shell_only``: in Ray's token mode without Ray's token.
    """

    role: Role
    how: How
    peer: str
    name: str | None = None
    jobs: frozenset[str] | None = None
    grant_id: str | None = None
    token_print: str | None = None
    expires_ns: int | None = None
    shell_only: bool = False

    @property
    def reads_messages(self) -> bool:
        """Whether error messages are shown to this caller."""
        return at_least(self.role, LEAST["error_messages"])

    @property
    def label(self) -> str:
        """For the audit log and ``Grant.made_by``."""
        if self.how == "grant":
            return f"{self.name} (grant {self.grant_id})"
        return {"none": "anonymous", "ray_token": "Ray's token", "token": "raydebug's token", "open": "open"}[self.how]
