"""What the built-in tools share: schemas, keys, the guarded client, answers of services, texts cut to size."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from html import unescape
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from treadle._tools.builtin.http.client import GuardedClient
from treadle._types.errors import ToolError

if TYPE_CHECKING:
    from treadle._tools.builtin.http.client import Fetched

T = TypeVar("T")


class Hit(Struct, frozen=True, omit_defaults=True):
    """One thing a search found."""

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


QUERY_SCHEMA = object_schema(
    {"query": {"type": "string", "minLength": 1, "maxLength": 400, "description": "What to look for"}}, ("query",)
)


def find_key(given: str | None, variable: str, service: str, get_it_at: str) -> str:
    """A service's key: given, or from the environment when the tool is called."""
    key = given or os.environ.get(variable, "")
    if not key:
        raise ToolError(f"{service} needs a key: set {variable} (from {get_it_at})")
    return key


def client_for(client: GuardedClient | None, base_url: str, timeout: float) -> GuardedClient:
    """The client given, or one that may also reach `base_url` itself, which the operator chose, wherever it is."""
    if client is not None:
        return client
    parts = urlsplit(base_url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return GuardedClient(allow_hosts=[f"{parts.hostname}:{port}"] if parts.hostname else [], timeout=timeout)


def check_status(answer: Fetched, service: str, variable: str = "", secret: str = "") -> None:
    """Refuse an answer that is not a success, in words that say what to do; `secret` is kept out of them."""
    if answer.status < 300:
        return
    if answer.status in (401, 403) and variable:
        raise ToolError(f"{service} refused the key (HTTP {answer.status}): check {variable}")
    if answer.status == 429:
        raise ToolError(f"{service} says too many requests: wait before asking again")
    said = plain(answer.text[:5_000])
    raise ToolError(
        f"{service} answered HTTP {answer.status}: {clip(said.replace(secret, '***') if secret else said, 300)}"
    )


def read_as(answer: Fetched, shape: type[T], service: str, variable: str = "", secret: str = "") -> T:
    """The JSON body of a successful answer."""
    check_status(answer, service, variable, secret)
    try:
        return answer.json(shape)
    except ToolError as error:
        raise ToolError(f"{service}: {error}") from None


def plain(markup: str) -> str:
    """Text without its tags, on one line."""
    return " ".join(unescape(re.sub(r"<[^<>]{1,2000}>", "", markup)).split())


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"
