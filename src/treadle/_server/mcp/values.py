"""What a server offers to MCP clients beside tools: resources and prompts."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from treadle._types.messages import Content, Message

_LONGEST_VALUE = 2_000


class McpResource(Struct, frozen=True, kw_only=True, dict=True):
    """Something that MCP clients can read.

    `uri` may have names in braces (`shop://items/{id}`); `read` gets their values by name, and gives text, or bytes of
    the type `mime`.
    """

    uri: str
    name: str
    read: Callable[..., Awaitable[str | bytes] | str | bytes]
    description: str = ""
    mime: str = "text/plain"
    complete: Callable[[str, str], Awaitable[Sequence[str]]] | None = None
    """Suggests values: gets a name in braces and what was typed."""

    @cached_property
    def is_template(self) -> bool:
        return "{" in self.uri

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pieces = re.split(r"\{(\w+)\}", self.uri)
        return re.compile(
            "".join(rf"(?P<{piece}>[^/?#]+)" if number % 2 else re.escape(piece) for number, piece in enumerate(pieces))
        )

    def values_in(self, uri: str) -> dict[str, str] | None:
        """The values of the names in braces; None for another address."""
        found = self._pattern.fullmatch(uri) if len(uri) <= _LONGEST_VALUE else None
        return None if found is None else {name: unquote(text) for name, text in found.groupdict().items()}


class McpPrompt(Struct, frozen=True, kw_only=True):
    """A prompt that MCP clients offer their users; `render` gives text, parts or messages."""

    name: str
    render: Callable[..., Content | Sequence[Message] | Awaitable[Content | Sequence[Message]]]
    description: str = ""
    arguments: Mapping[str, str] = {}
    """Name to description; each is needed."""

    def missing(self, given: Mapping[str, Any]) -> list[str]:
        return [name for name in self.arguments if name not in given]
