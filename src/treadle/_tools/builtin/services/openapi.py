"""The operations of an OpenAPI document as tools. Reading operations are `pure`, all others `unsafe`."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._safety.bounds import Count, Seconds, bounded
from treadle._safety.data import DataError, decode_json, decode_yaml, read_text
from treadle._tools.base import Tool
from treadle._tools.builtin.common import check_status, client_for, required_setting
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.builtin.services.openapi_document import FORM, Document, Field, Operation
from treadle._types.errors import ConfigError, ToolError

_READS = ("GET", "HEAD")


@bounded
def openapi(
    document: Mapping[str, Any] | str | os.PathLike[str],
    *,
    operations: Iterable[str] = (),
    server: str = "",
    auth: Mapping[str, str] | str = "",
    most: Count = 100,
    timeout: Seconds = 30.0,
    client: GuardedClient | None = None,
) -> list[Tool]:
    """`document`: its content, or the path of a JSON or YAML file. `operations`: the names of those that are wanted,
    else all, at most `most`. `server`: the address, in place of the document's. `auth`: the environment variable with
    the key or token; with several schemes, a variable for each. User name and password are `name:password`."""
    read = Document(_content(document))
    address = server or read.server
    if urlsplit(address).scheme not in ("http", "https"):
        raise ConfigError(f"openapi: the document names no http address ({address or 'none'!r}): give server=...")
    wanted, every = set(operations), {one.name: one for one in read.operations()}
    if missing := sorted(wanted - every.keys()):
        raise ConfigError(f"openapi: there is no operation {missing[0]!r}; expected one of: {', '.join(every)[:500]}")
    chosen = [one for one in every.values() if not wanted or one.name in wanted]
    if len(chosen) > most:
        raise ConfigError(
            f"openapi: {len(chosen)} operations are too many for a model: name some with operations=[...]"
        )
    # Only an address that the operator gives may be private: the document is anybody's.
    web = client_for(client, server, timeout) if server or client else GuardedClient(timeout=timeout)
    return [_tool(one, read, address.rstrip("/"), auth, web) for one in chosen]


def _content(document: Mapping[str, Any] | str | os.PathLike[str]) -> Mapping[str, Any]:
    if isinstance(document, Mapping):
        return document
    path = Path(document)
    try:
        text = read_text(path)
        return as_dict(decode_json(text) if path.suffix == ".json" else decode_yaml(text))
    except (DataError, OSError) as error:
        raise ConfigError(f"openapi: {path.name} cannot be read: {error}") from None


def _tool(
    operation: Operation, document: Document, address: str, auth: Mapping[str, str] | str, web: GuardedClient
) -> Tool:
    host = urlsplit(address).hostname or "service"

    async def execute(**arguments: Any) -> Any:
        headers, query = _credentials(operation, document, auth)
        path, body = operation.path, None
        for argument, value in arguments.items():
            field = operation.fields[argument]
            if field.place == "path":
                path = path.replace("{" + field.name + "}", _segment(field.name, value))
            elif field.place == "query":
                query += _pairs(field, value)
            elif field.place == "header":
                headers[field.name] = _text(value)
            else:
                body = value
        if "{" in path:
            raise ToolError(f"the path {path} needs arguments that the document does not declare")
        form = {name: _text(value) for name, value in as_dict(body).items()} if operation.body == FORM else None
        url = f"{address}{path}" + (f"?{urlencode(query)}" if query else "")
        response = await web.request(
            operation.method, url, headers=headers, json=body if form is None else None, form=form
        )
        check_status(response, host)
        if b"\0" in response.body[:1024]:
            return f"HTTP {response.status}: {len(response.body)} bytes of {response.mime or 'binary data'}"
        return response.text or f"HTTP {response.status}"

    reads = operation.method in _READS
    return Tool(
        operation.name,
        operation.description,
        operation.parameters,
        execute,
        timeout=web.timeout + 5,
        effect="pure" if reads else "unsafe",
        untrusted=host,
        takes_extras=frozenset(),
    )


def _credentials(
    operation: Operation, document: Document, auth: Mapping[str, str] | str
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Headers and parameters with the keys of the first alternative that has all of them."""
    problem: ToolError | None = None
    for alternative in operation.security or [{}]:
        headers: dict[str, str] = {}
        query: list[tuple[str, str]] = []
        try:
            for name in alternative:
                _add_key(as_dict(document.schemes.get(name)), _key(document, name, auth), headers, query)
        except ToolError as error:
            problem = problem or error
            continue
        return headers, query
    raise problem or ToolError(f"{document.title} cannot be used without a key")


def _key(document: Document, scheme: str, auth: Mapping[str, str] | str) -> str:
    """The key from the variable that the operator has named: a document must not choose which one it gets."""
    variable = auth if isinstance(auth, str) else auth.get(scheme, "")
    if not variable:
        raise ToolError(
            f"{document.title} needs a key ({scheme}): name the environment variable that has it with auth="
        )
    return required_setting(None, variable, document.title, "whoever runs the service")


def _add_key(scheme: dict[str, Any], key: str, headers: dict[str, str], query: list[tuple[str, str]]) -> None:
    kind, name = as_text(scheme.get("type")), as_text(scheme.get("name"))
    if kind == "apiKey" and scheme.get("in") == "query":
        query.append((name, key))
    elif kind == "apiKey" and scheme.get("in") in ("header", "cookie"):
        headers.update({name: key} if scheme["in"] == "header" else {"Cookie": f"{name}={key}"})
    elif kind == "http" and as_text(scheme.get("scheme")).lower() == "basic":
        headers["Authorization"] = f"Basic {base64.b64encode(key.encode()).decode()}"
    elif kind in ("http", "oauth2", "openIdConnect"):
        headers["Authorization"] = f"Bearer {key}"
    else:
        raise ToolError(f"the way to log in is not known: {kind or 'undeclared'}")


def _segment(name: str, value: Any) -> str:
    """A value as one part of a path: it cannot lead to another operation."""
    text = _text(value)
    if text in ("", ".", ".."):
        raise ToolError(f"argument {name!r} cannot be {text!r}")
    return quote(text, safe="")


def _pairs(field: Field, value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, list):
        return [(field.name, _text(value))]
    texts = [_text(each) for each in as_list(value)]
    return [(field.name, text) for text in texts] if field.explode else [(field.name, ",".join(texts))]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
