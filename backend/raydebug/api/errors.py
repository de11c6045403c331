"""The one shape of an error."""

from __future__ import annotations

import msgspec


class ErrorBody(msgspec.Struct, frozen=True):
    """What went wrong, in words for people.

    ``code`` is stable and in snake_case; ``message`` says what was expected; ``hint`` says what to do, may be empty.
    """

    code: str
    message: str
    hint: str = ""


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of every answer with a status of 400 and above."""

    error: ErrorBody
