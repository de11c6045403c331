"""``raydebug doctor``: one line a check."""

from __future__ import annotations

from typing import Literal

import msgspec

CheckLevel = Literal["ok", "warning", "error"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """``check`` is a stable id, ``where`` the node's ip or ``head``; ``fix`` the command or step that mends it."""

    check: str
    level: CheckLevel
    where: str
    message: str
    fix: str = ""


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    time_ns: int
    checks: list[Check]
