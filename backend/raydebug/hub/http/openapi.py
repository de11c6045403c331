"""The OpenAPI document, made from the table of routes and the Structs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from raydebug import __version__
from raydebug.api.errors import ErrorAnswer
from raydebug.api.names import API_PREFIX, TOKEN_HEADER
from raydebug.hub.access.rules import LEAST
from raydebug.hub.http.call import Route

_REF = "#/components/schemas/{name}"


def document(table: Iterable[Route]) -> bytes:
    """JSON. The page's own routes are left out: scripts have no use for them."""
    api = [route for route in table if route.path.startswith(API_PREFIX)]
    types: set[type[msgspec.Struct]] = {ErrorAnswer}
    for route in api:
        types |= {kind for kind in (route.answer, route.body) if isinstance(kind, type)}
    ordered = sorted(types, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    schema_of = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in api:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "raydebug",
                "version": __version__,
                "description": "Times are Unix nanoseconds, in fields that end in _ns; ids are Ray's, in hex.",
            },
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": {
                    "token": {"type": "apiKey", "in": "header", "name": TOKEN_HEADER},
                    "bearer": {"type": "http", "scheme": "bearer"},
                },
            },
            "security": [{}, {"token": []}, {"bearer": []}],
        }
    )


def _operation(route: Route, schema_of: dict[type[msgspec.Struct], dict[str, Any]]) -> dict[str, Any]:
    if isinstance(route.answer, str):
        content: dict[str, Any] = {route.answer: {}}
    else:
        content = {"application/json": {"schema": schema_of[route.answer]}}
    error = {"application/json": {"schema": schema_of[ErrorAnswer]}}
    responses: dict[str, Any] = {str(route.status): {"description": route.summary, "content": content}}
    for status in sorted({400, 403, *route.errors}):
        responses[str(status)] = {"description": _REASONS[status], "content": error}
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__.strip("_"),
        "summary": route.summary,
        "x-role": LEAST[route.action],
        "responses": responses,
    }
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)", route.path)
    ]
    parameters += [
        {"name": param.name, "in": "query", "description": param.description, "schema": {"type": "string"}}
        for param in route.params
    ]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_of[route.body]}},
        }
    return operation


_REASONS = {
    400: "A parameter or the body is wrong; the message names it",
    403: "Not allowed; the hint says what would be needed",
    404: "There is no such thing",
}
