"""Roles and grants."""

from __future__ import annotations

from typing import Literal

import msgspec

Role = Literal["anonymous", "viewer", "debugger"]


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A right that somebody gave away, without its secret. ``jobs`` None: all jobs. ``expires_ns`` None: never."""

    grant_id: str
    role: Role
    name: str
    jobs: list[str] | None
    made_ns: int
    expires_ns: int | None
    made_by: str


class GrantMade(msgspec.Struct, frozen=True, kw_only=True):
    """A new grant with its token, shown this once, and the link that signs in with it (secret in the fragment)."""

    grant: Grant
    token: str
    link: str


class GrantRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``POST grants``. ``expires_s``: seconds from now; None: never."""

    role: Literal["viewer", "debugger"]
    name: str
    jobs: list[str] | None = None
    expires_s: float | None = None


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    grants: list[Grant]
