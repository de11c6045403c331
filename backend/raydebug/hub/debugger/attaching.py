"""What is said to debugpy at the beginning of a session."""

from __future__ import annotations

from typing import Any, Final

INITIALIZE: Final[dict[str, Any]] = {
    "adapterID": "debugpy",
    "clientID": "raydebug",
    "clientName": "raydebug",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "pathFormat": "path",
    "supportsVariableType": True,
}
ATTACH: Final[dict[str, Any]] = {
    "name": "raydebug",
    "justMyCode": False,  # else it refuses breakpoints in site-packages, where verl lives
    "subProcess": False,
    # Ray wraps each method of an actor: a step into one of them is to arrive in the method.
    "rules": [{"path": "**/ray/util/tracing/**", "include": False}],
    "redirectOutput": True,
    "stopAllThreadsOnSuspend": False,
    "steppingResumesAllThreads": False,
}
NODELAY: Final = "__import__('pydevd').get_global_debugger().writer.sock.setsockopt(6, 1, 1)"
"""pydevd sends each answer in two writes on a socket without TCP_NODELAY: 44 ms for each round trip without this."""
