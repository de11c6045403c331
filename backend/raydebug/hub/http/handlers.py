"""What the routes do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, TypeVar, overload

import msgspec
from aiohttp import web

from raydebug.api.access import GrantRequest
from raydebug.api.health import Whoami
from raydebug.api.stream import QueryTasks
from raydebug.api.topology import Topology
from raydebug.hub.http.answers import accepts_gzip
from raydebug.hub.http.call import Answer, Call, ProblemError
from raydebug.hub.http.metrics import CONTENT_TYPE, render
from raydebug.hub.http.static import Asset
from raydebug.hub.model import views

_CSP: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'self'"
)
T = TypeVar("T")
_MANY_ROWS: Final = 500
"""From here on the answer is built off the loop; the tables never change under it."""


def _file(call: Call, asset: Asset, headers: dict[str, str]) -> web.Response:
    packed = asset.packed if accepts_gzip(call.request.headers) else None
    headers |= {"Content-Type": asset.content_type, "Content-Security-Policy": _CSP, "Vary": "Accept-Encoding"}
    if packed is not None:
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=asset.data if packed is None else packed, headers=headers)


async def shell(call: Call) -> Answer:
    return _file(call, call.services.static.shell(), {"Cache-Control": "no-cache"})


async def asset(call: Call) -> Answer:
    found = call.services.static.asset(call.path["name"])
    if found is None:
        raise ProblemError(
            404, "unknown_asset", "There is no such file.", "Reload the page: it may be of an older version."
        )
    return _file(call, found, {"Cache-Control": "public, max-age=31536000, immutable"})


async def health(call: Call) -> Answer:
    answer = call.services.health()
    if call.asked.route != "open":
        return msgspec.structs.replace(answer, auth="ray_token")
    return msgspec.structs.replace(answer, auth="open" if call.services.access.everybody_debugger else "off")


async def whoami(call: Call) -> Answer:
    return Whoami(role=call.caller.role, how=call.caller.how, name=call.caller.name)


def _sight(call: Call) -> views.Sight:
    return views.Sight(call.caller.jobs, call.caller.reads_messages)


async def topology(call: Call) -> Answer:
    sight = _sight(call)
    store = call.services.store
    wanted = call.params.get("job")
    if wanted is not None:
        if wanted not in store.table("jobs") or (sight.jobs is not None and wanted not in sight.jobs):
            raise ProblemError(404, "unknown_job", f"There is no job {wanted[:100]!r}.", "GET topology lists the jobs.")
        sight = sight._replace(jobs=frozenset({wanted}))
    tables, now = store.topic_tables("topology"), call.services.now_ns()
    answer: Topology
    if len(tables["actors"]) < _MANY_ROWS:
        answer = views.topology(tables, now, sight)
    else:
        answer = await asyncio.to_thread(views.topology, tables, now, sight)
    return answer


async def paused(call: Call) -> Answer:
    return views.paused(call.services.store.topic_tables("paused"), call.services.now_ns(), _sight(call))


async def tasks(call: Call) -> Answer:
    params = call.params
    query = QueryTasks(
        id=0,
        job_id=params.get("job"),
        task_id=params.get("task_id"),
        from_ns=_int(params, "from"),
        to_ns=_int(params, "to"),
        limit=_int(params, "limit", 1000),
    )
    return _asked(call.services.timeline.tasks, query, _sight(call), call.services.now_ns())


async def timeline(call: Call) -> Answer:
    params = call.params
    job = params.get("job")
    if job is None:
        raise ProblemError(400, "missing_parameter", "job is missing.", "GET topology lists the jobs.")
    begin, end, width = _int(params, "from"), _int(params, "to"), _int(params, "width", 1000)
    return _asked(call.services.timeline.json, job, begin, end, width, _sight(call), call.services.now_ns())


def _asked(ask: Callable[..., T], *arguments: object) -> T:
    """What the model answers; what it refuses as a status."""
    try:
        return ask(*arguments)
    except LookupError as error:
        raise ProblemError(404, "unknown", f"{error.args[0]}.", "GET topology lists the jobs.") from None
    except ValueError as error:
        raise ProblemError(400, "bad_parameter", f"{error}.") from None


@overload
def _int(params: Mapping[str, str], name: str) -> int | None: ...


@overload
def _int(params: Mapping[str, str], name: str, default: int) -> int: ...


def _int(params: Mapping[str, str], name: str, default: int | None = None) -> int | None:
    given = params.get(name)
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 19:
        raise ProblemError(
            400, "bad_parameter", f"{name} is {given[:60]!r}, expected a whole number of at most 19 digits."
        )
    return int(given)


async def doctor(call: Call) -> Answer:
    assert call.services.doctor is not None  # else there is no such route
    return await call.services.doctor()


async def metrics(call: Call) -> Answer:
    return web.Response(text=render(call.services.metrics()), headers={"Content-Type": CONTENT_TYPE})


async def stream(call: Call) -> Answer:
    return await call.services.stream(call.request, call.asked, call.caller)


async def list_grants(call: Call) -> Answer:
    return call.services.access.list_grants(call.caller)


async def make_grant(call: Call) -> Answer:
    assert isinstance(call.body, GrantRequest)
    return call.services.access.make_grant(call.caller, call.body, call.asked.base_url)


async def revoke_grant(call: Call) -> Answer:
    return call.services.access.revoke_grant(call.caller, call.path["grant_id"])
