"""Opening an MCP client: transports, and what a server may ask of us."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from treadle._tools.mcp.link import Link, Watched
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, ImagePart, Message, SystemMessage, TextPart, UserMessage

if TYPE_CHECKING:
    from mcp import Client

Elicitation = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Asks the user what a server wants to know: its question and the schema of the answer. None declines."""
Sampling = Callable[[Sequence[Message], int], Awaitable[str]]
"""Asks a model on a server's behalf: the messages and the most tokens to write."""
Transport = Literal["http", "sse"]


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a server is: a command to start, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = ""
    url: str = ""
    transport: Transport = "http"
    headers: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ConfigError("an MCP server needs either a command to start or the url of a running one")
        if self.transport not in ("http", "sse"):
            raise ConfigError(f"an MCP server is reached by transport http or sse, not {self.transport!r}")

    def __repr__(self) -> str:
        return f"Endpoint({self.command or self.transport})"  # addresses, arguments and headers may hold keys


@asynccontextmanager
async def open_client(
    endpoint: Endpoint, elicitation: Elicitation | None, sampling: Sampling | None, link: Link
) -> AsyncGenerator[Client]:
    from mcp_types import Implementation, ToolListChangedNotification

    from mcp import Client

    async def on_message(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            link.changed = True

    client = Client(
        _watched(endpoint, link),
        client_info=Implementation(name="treadle", version="1"),
        message_handler=on_message,
        elicitation_callback=None if elicitation is None else _elicit(elicitation),
        sampling_callback=None if sampling is None else _sample(sampling),
    )
    async with client:
        yield client


@asynccontextmanager
async def _watched(endpoint: Endpoint, link: Link) -> AsyncGenerator[tuple[Any, Any]]:
    async with AsyncExitStack() as stack:
        reads, writes = await stack.enter_async_context(await _transport(endpoint, stack))
        yield Watched(reads, lambda: link.lose("the server closed the connection")), writes


async def _transport(endpoint: Endpoint, stack: AsyncExitStack) -> Any:
    if endpoint.command:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        given = StdioServerParameters(
            command=endpoint.command, args=list(endpoint.args), env=dict(endpoint.env) or None, cwd=endpoint.cwd or None
        )
        # What a server writes to its standard error would tear our own display.
        return stdio_client(given, errlog=stack.enter_context(open(os.devnull, "w")))  # noqa: ASYNC230 - nothing to wait for
    from mcp.shared._httpx_utils import create_mcp_http_client

    if endpoint.transport == "sse":
        from mcp.client.sse import sse_client

        return sse_client(endpoint.url, headers=dict(endpoint.headers))
    from mcp.client.streamable_http import streamable_http_client

    http = await stack.enter_async_context(create_mcp_http_client(headers=dict(endpoint.headers)))
    return streamable_http_client(endpoint.url, http_client=http)


def _elicit(ask: Elicitation) -> Any:
    async def callback(context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult

        schema = getattr(params, "requested_schema", None)
        if schema is None:  # it wants a browser opened: not something to do unasked
            return ElicitResult(action="decline")
        given = await ask(params.message, schema)
        return ElicitResult(action="decline") if given is None else ElicitResult(action="accept", content=dict(given))

    return callback


def _sample(ask: Sampling) -> Any:
    async def callback(context: Any, params: Any) -> Any:
        from mcp_types import CreateMessageResult, TextContent

        messages: list[Message] = [SystemMessage(params.system_prompt)] if params.system_prompt else []
        for message in params.messages:
            blocks = cast("list[Any]", message.content) if isinstance(message.content, list) else [message.content]
            parts = tuple(part for block in blocks if (part := _part(block)) is not None)
            if message.role == "assistant":
                messages.append(AssistantMessage("\n".join(part.text for part in parts if isinstance(part, TextPart))))
            else:
                messages.append(UserMessage(parts))
        text = await ask(messages, params.max_tokens)
        return CreateMessageResult(
            role="assistant", content=TextContent(text=text), model="treadle", stop_reason="endTurn"
        )

    return callback


def _part(block: Any) -> TextPart | ImagePart | None:
    if block.type == "image":
        return ImagePart(data=block.data, mime=block.mime_type)
    return TextPart(block.text) if block.type == "text" else None
