"""A request that was let in, and what a handler needs to answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from raydebug.api.doctor import DoctorReport
from raydebug.api.health import Health
from raydebug.hub.access.caller import Caller
from raydebug.hub.access.gate import Access, Asked
from raydebug.hub.access.rules import Action
from raydebug.hub.http.metrics import Metric
from raydebug.hub.http.static import StaticFiles
from raydebug.hub.model.store import Store
from raydebug.hub.model.timeline.timeline import TaskTimeline

Doctor = Callable[[], Awaitable[DoctorReport]]
Stream = Callable[[web.Request, Asked, Caller], Awaitable[web.StreamResponse]]


class ProblemError(Exception):
    """An answer with a status of 400 and above."""

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Services:
    """What the routes serve. ``doctor`` None: no such route. ``auth`` in ``health`` is filled in by caller."""

    access: Access
    store: Store
    timeline: TaskTimeline
    health: Callable[[], Health]
    static: StaticFiles
    stream: Stream
    metrics: Callable[[], list[Metric]]
    now_ns: Callable[[], int]
    doctor: Doctor | None = None


@dataclass(frozen=True)
class Call:
    """``params``: the query, each parameter declared and given once. ``path``: the variable parts of the path."""

    services: Services
    caller: Caller
    asked: Asked
    request: web.Request
    params: Mapping[str, str]
    path: Mapping[str, str]
    body: msgspec.Struct | None = None


Answer = msgspec.Struct | web.StreamResponse
Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True)
class Param:
    name: str
    description: str


@dataclass(frozen=True)
class Route:
    """One row of the table. ``answer``: the Struct of the JSON answer, or a media type."""

    method: str
    path: str
    action: Action
    handler: Handler
    summary: str
    answer: type[msgspec.Struct] | str
    params: tuple[Param, ...] = ()
    body: type[msgspec.Struct] | None = None
    status: int = 200
    errors: tuple[int, ...] = field(default=())
