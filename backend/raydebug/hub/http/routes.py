"""The table of routes."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from raydebug.api.access import GrantMade, GrantRequest, Grants
from raydebug.api.doctor import DoctorReport
from raydebug.api.health import Health, Whoami
from raydebug.api.names import API_PREFIX, URL_PREFIX
from raydebug.api.paused import Paused
from raydebug.api.timeline import Tasks, Timeline
from raydebug.api.topology import Topology
from raydebug.hub.http import handlers as do
from raydebug.hub.http import openapi
from raydebug.hub.http.call import Answer, Call, Param, Route, Services

_JOB: Final = Param("job", "A job's id: only this job.")
_FROM: Final = Param("from", "Unix nanoseconds: only what ended after it, or still runs.")
_TO: Final = Param("to", "Unix nanoseconds: only what was submitted, or began, before it.")


async def _openapi(call: Call) -> Answer:
    return web.Response(body=openapi.document(routes(call.services)), content_type="application/json")


def routes(services: Services) -> tuple[Route, ...]:
    """All routes of a hub that has these services."""
    api = API_PREFIX
    table = [
        Route("GET", URL_PREFIX, "shell", do.shell, "The page", "text/html"),
        Route("GET", f"{URL_PREFIX}/", "shell", do.shell, "The page", "text/html"),
        Route("GET", f"{URL_PREFIX}/assets/{{name:.+}}", "shell", do.asset, "A file of the page", "*/*", errors=(404,)),
        Route("GET", f"{URL_PREFIX}/ws", "stream", do.stream, "The live websocket", "websocket", status=101),
        Route("GET", f"{api}/health", "health", do.health, "Whether the hub is up, and its versions", Health),
        Route("GET", f"{api}/whoami", "whoami", do.whoami, "Your role, and how it was known", Whoami),
        Route(
            "GET",
            f"{api}/topology",
            "topology",
            do.topology,
            "Nodes, jobs, their WorkerGroups and actors, and what each does now",
            Topology,
            params=(_JOB,),
            errors=(404,),
        ),
        Route("GET", f"{api}/paused", "paused", do.paused, "Where workers and drivers wait at a breakpoint", Paused),
        Route(
            "GET",
            f"{api}/tasks",
            "tasks",
            do.tasks,
            "Attempts of tasks, the newest first",
            Tasks,
            params=(
                _JOB,
                _FROM,
                _TO,
                Param("limit", "How many at most: 1 to 200,000, default 1,000."),
                Param("task_id", "A task's id: its attempts."),
            ),
            errors=(400, 404),
        ),
        Route(
            "GET",
            f"{api}/timeline",
            "timeline",
            do.timeline,
            "A job's lanes with exact slices, or with bins where there are many",
            Timeline,
            params=(
                Param("job", "A job's id."),
                Param("from", "Unix nanoseconds; default: the first that is held."),
                Param("to", "Unix nanoseconds; default: the last."),
                Param("width", "Pixels, 1 to 8,192; default 1,000."),
            ),
            errors=(400, 404),
        ),
        Route("GET", f"{api}/grants", "grants", do.list_grants, "The live grants", Grants),
        Route(
            "POST",
            f"{api}/grants",
            "grants",
            do.make_grant,
            "Give a right away; the answer holds its token, once",
            GrantMade,
            body=GrantRequest,
            status=201,
        ),
        Route(
            "DELETE",
            f"{api}/grants/{{grant_id}}",
            "grants",
            do.revoke_grant,
            "Revoke a grant and what was made with it; what is left",
            Grants,
            errors=(404,),
        ),
        Route("GET", f"{api}/metrics", "metrics", do.metrics, "Prometheus text about the hub itself", "text/plain"),
        Route("GET", f"{api}/openapi.json", "openapi", _openapi, "This document", "application/json"),
    ]
    if services.doctor is not None:
        table.append(
            Route("GET", f"{api}/doctor", "doctor", do.doctor, "The checks of `raydebug doctor`", DoctorReport)
        )
    return tuple(table)
