"""The OpenAPI document, made from the table of operations and their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from treadle._server.api.bodies import ErrorBody
from treadle._server.api.operations import Operation
from treadle._version import __version__

_REFS = "#/components/schemas/{name}"
_COMMON = (400, 401, 403, 429, 503)
_WITH_BODY = (408, 413, 415)
_MEANING = {
    200: "Done.",
    201: "Started.",
    202: "Accepted.",
    204: "The run has ended and there are no more events.",
    400: "The request is invalid; the message says why.",
    401: "A token is needed.",
    403: "The origin or host is not allowed.",
    404: "It does not exist, or belongs to another user.",
    408: "The body did not arrive in time.",
    409: "Not possible in the current state; the message says why.",
    422: "What the request says cannot be done as it says it.",
    413: "The body is too large.",
    415: "The body must be JSON.",
    429: "Too many requests, runs or streams; see Retry-After.",
    424: "The model gave no answer, or its provider refused: the same request would end the same way.",
    503: "Temporarily unavailable.",
}
_EVENT = {
    "type": "object",
    "description": "One event; `data` is JSON.",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string"},
        "data": {"type": "string"},
        "retry": {"type": "integer"},
    },
}
_MEDIA: dict[str, Any] = {
    "text/event-stream": {"schema": _EVENT},
    "text/html": {"schema": {"type": "string"}},
    "text/plain": {"schema": {"type": "string"}},
    "application/x-ndjson": {"schema": {"type": "string"}},
    "*/*": {},
}
_PATH_SHAPES = {"seq": {"type": "integer", "minimum": 0, "maximum": 999999999}}


def document(operations: Sequence[Operation], *, needs_token: bool) -> dict[str, Any]:
    types = [ErrorBody, *(kind for operation in operations for kind in _types(operation))]
    schemas, components = msgspec.json.schema_components(list(dict.fromkeys(types)), ref_template=_REFS)
    by_type = dict(zip(dict.fromkeys(types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, by_type, needs_token)
    extra: dict[str, Any] = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if needs_token else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Treadle",
            "version": __version__,
            "description": "Start, follow, steer and inspect runs of tool-using agents.",
        },
        "paths": paths,
        "components": {"schemas": components, **extra},
    }


def _types(operation: Operation) -> list[Any]:
    kinds = [operation.body, operation.query, operation.refused]
    for kind in operation.answers.values():
        kinds += _each(kind)
    return [kind for kind in kinds if isinstance(kind, type)]


def _each(kind: Any) -> list[Any]:
    return list(cast(tuple[Any, ...], kind)) if isinstance(kind, tuple) else [kind]


def _operation(operation: Operation, schemas: Mapping[Any, Any], needs_token: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": {str(status): _response(status, kind, schemas) for status, kind in operation.answers.items()},
    }
    errors = {*_COMMON, *operation.errors, *(_WITH_BODY if operation.body else ())}
    for status in sorted(errors):
        described["responses"].setdefault(str(status), _response(status, operation.refused or ErrorBody, schemas))
    if parameters := [*_path_parameters(operation), *_query_parameters(operation)]:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas[operation.body]}},
        }
    if needs_token and not operation.open:
        described["security"] = [{"token": []}]
    return described


def _response(status: int, kind: Any, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _MEANING[status]}
    content: dict[str, Any] = {}
    for one in _each(kind):
        if isinstance(one, str):
            content[one] = _MEDIA[one]
        elif one is not None:
            content["application/json"] = {"schema": schemas[one]}
    if content:
        response["content"] = content
    if status == 429:
        response["headers"] = {"Retry-After": {"schema": {"type": "string", "pattern": "^[0-9]+$"}}}
    return response


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)(?::\w+)?\}", operation.path)
    default = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": _PATH_SHAPES.get(name, default)} for name in names]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    schema = msgspec.json.schema(operation.query)
    shape: dict[str, Any] = schema["$defs"][operation.query.__name__]
    required = shape.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": kind}
        for name, kind in shape["properties"].items()
    ]
