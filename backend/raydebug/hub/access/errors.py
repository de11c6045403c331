"""What access answers when it says no."""

from __future__ import annotations

from raydebug.api.errors import ErrorBody


class AccessError(Exception):
    """Refused, or a request about grants that can't be done. ``status`` is the HTTP status that fits."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = ErrorBody(code=code, message=message, hint=hint)


def forbidden(code: str, message: str, hint: str = "") -> AccessError:
    return AccessError(403, code, message, hint)
