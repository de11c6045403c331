"""The table of rights: which action needs which role, and which message is which action.

An action that isn't listed here is allowed to nobody.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from raydebug.api import stream
from raydebug.api.access import Role
from raydebug.api.debug import Command
from raydebug.api.stream import Topic
from raydebug.hub.access.errors import AccessError, forbidden

Action = Literal[
    "shell",
    "health",
    "whoami",
    "openapi",
    "metrics",
    "topology",
    "paused",
    "timeline",
    "tasks",
    "error_messages",
    "doctor",
    "stream",
    "sessions",
    "source",
    "debug",
    "grants",
    "unknown",
]

LEAST: Final[dict[Action, Role]] = {
    "shell": "anonymous",
    "health": "anonymous",
    "whoami": "anonymous",
    "openapi": "anonymous",
    "metrics": "anonymous",
    "topology": "anonymous",
    "paused": "anonymous",
    "timeline": "anonymous",
    "tasks": "anonymous",  # without error messages
    "error_messages": "viewer",  # what exceptions say, wherever it stands: user code puts anything there
    "doctor": "viewer",
    "stream": "anonymous",
    "sessions": "viewer",  # expressions that others evaluate stand in them
    "source": "viewer",
    "debug": "debugger",  # attaching is running code
    "grants": "debugger",
    "unknown": "anonymous",  # a path that doesn't exist: told apart from the others only after the other checks
}

TOPICS: Final[dict[Topic, Action]] = {
    "topology": "topology",
    "paused": "paused",
    "timeline": "timeline",
    "debug": "sessions",
}

MESSAGES: Final[dict[type[msgspec.Struct], Action]] = {
    stream.Hello: "stream",
    stream.Subscribe: "stream",  # and the action of its topic
    stream.Unsubscribe: "stream",
    stream.Ping: "stream",
    stream.QueryTimeline: "timeline",
    stream.QueryTasks: "tasks",
    stream.Debug: "source",  # and the action of its command
    stream.MakeGrant: "grants",
    stream.ListGrants: "grants",
    stream.RevokeGrant: "grants",
}

COMMANDS: Final[dict[str, Action]] = {
    command: "source" if command == "source" else "debug" for command in get_args(Command)
}
"""The commands of ``stream.Debug``; one that isn't here is refused."""

PUBLIC_IN_TOKEN_MODE: Final[frozenset[Action]] = frozenset({"shell"})
"""All that passes without Ray's token in Ray's token mode: the shell and its assets, which hold no data."""

_RANK: Final[dict[Role, int]] = {"anonymous": 0, "viewer": 1, "debugger": 2}

_HOW_TO_BECOME: Final[dict[Role, str]] = {
    "anonymous": "",
    "viewer": "Ask for a link made by `raydebug grant --role viewer --name NAME`, or open that of `raydebug url`.",
    "debugger": "Open the link that `raydebug url` prints on the head node, or send its token in X-Raydebug-Token.",
}


def at_least(role: Role, least: Role) -> bool:
    return _RANK[role] >= _RANK[least]


def require(role: Role, action: Action) -> None:
    """Raise unless ``role`` may do ``action``; the refusal says what would be needed."""
    least = LEAST.get(action)
    if least is None:
        raise forbidden("forbidden", "Nobody may do this.")
    if not at_least(role, least):
        raise too_low(role, least)


def too_low(role: Role, least: Role) -> AccessError:
    return forbidden("role_too_low", f"This needs the role {least}; you are {role}.", _HOW_TO_BECOME[least])
