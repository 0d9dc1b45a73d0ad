"""Shared by the built-in tools: schemas, API keys, the HTTP client, reading of responses, cutting of texts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from html import unescape
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from treadle._safety.secrets import known_secrets
from treadle._tools.builtin.http.client import GuardedClient
from treadle._types.errors import ToolError

if TYPE_CHECKING:
    from treadle._tools.builtin.http.client import HttpResponse

T = TypeVar("T")


class Hit(Struct, frozen=True, omit_defaults=True):
    """One search result."""

    title: str
    url: str
    snippet: str = ""
    date: str = ""


class SearchResult(Struct, frozen=True, omit_defaults=True):
    query: str
    results: tuple[Hit, ...]
    answer: str = ""
    """A direct answer, where the service gives one."""


def object_schema(properties: Mapping[str, Mapping[str, Any]], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}


Query = Annotated[str, Meta(min_length=1, max_length=400, description="What to look for")]


def required_setting(value: str | None, variable: str, service: str, get_it_at: str) -> str:
    """An API key or the like: `value`, or else the environment variable's value at the time of the call."""
    setting = value or os.environ.get(variable, "")
    if not setting:
        raise ToolError(f"{service} cannot be used: set {variable} in the environment (get it at {get_it_at})")
    return setting


def client_for(client: GuardedClient | None, base_url: str, timeout: float, *, key: str | None = None) -> GuardedClient:
    """`client`, or a new one that may also reach `base_url`, even if that is private: the operator chose it.

    A `key` given in code is known as a secret for as long as the client is used.
    """
    if client is None:
        parts = urlsplit(base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        client = GuardedClient(allow_hosts=[f"{parts.hostname}:{port}"] if parts.hostname else [], timeout=timeout)
    known_secrets.keep(client, f"{urlsplit(base_url).hostname or 'service'}-key", [key] if key else ())
    return client


def check_status(response: HttpResponse, service: str, variable: str = "", secret: str = "") -> None:
    """Raise `ToolError` unless the request succeeded; its text says what to do and never contains `secret`."""
    if response.status < 300:
        return
    if response.status in (401, 403) and variable:
        raise ToolError(f"{service} refused the API key (HTTP {response.status}): check {variable}")
    if response.status == 429:
        raise ToolError(f"{service} refused the request: too many requests; wait before trying again")
    text = plain(response.text[:5_000])
    raise ToolError(
        f"{service} answered HTTP {response.status}: {clip(text.replace(secret, '***') if secret else text, 300)}"
    )


def read_as(response: HttpResponse, shape: type[T], service: str, variable: str = "", secret: str = "") -> T:
    """The JSON body of a successful response, as `shape`."""
    check_status(response, service, variable, secret)
    try:
        return response.json(shape)
    except ToolError as error:
        raise ToolError(f"{service}: {error}") from None


def plain(markup: str) -> str:
    """Text without its tags, on one line."""
    return " ".join(unescape(re.sub(r"<[^<>]{1,2000}>", "", markup)).split())


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"
