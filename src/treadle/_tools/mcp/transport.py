"""Opens an MCP client: the transport, and the callbacks for what a server may ask of its client."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from treadle._safety.logs import get_logger
from treadle._tools.mcp.auth.access import Access
from treadle._tools.mcp.session import Session, WatchedStream
from treadle._types.errors import ConfigError
from treadle._types.messages import (
    AssistantMessage,
    AudioPart,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    UserMessage,
)

if TYPE_CHECKING:
    from mcp import Client

Elicitation = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Asks the user a server's question; gets the question and the schema of the answer. None declines."""
Sampling = Callable[[Sequence[Message], int], Awaitable[str]]
"""Asks a model on a server's behalf; gets the messages and the maximum number of tokens."""
Transport = Literal["http", "sse"]
LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

logger = get_logger()
_LOGGED = 500
_LEVELS = {"debug": logging.DEBUG, "warning": logging.WARNING} | dict.fromkeys(
    ("error", "critical", "alert", "emergency"), logging.ERROR
)


class Answers(Struct, frozen=True, kw_only=True):
    """The handlers of a server's requests and notices. A missing one is not announced to the server."""

    elicitation: Elicitation | None = None
    sampling: Sampling | None = None
    roots: tuple[str, ...] = ()
    """Folders that the server may work in; it is told, not forced."""
    log_level: str = ""
    """From which level on its log messages are wanted; empty for what it sends unasked."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """How to reach a server: a command to start, or a URL."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str = ""
    url: str = ""
    transport: Transport = "http"
    headers: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ConfigError(
                "an MCP server needs either a command that starts it or the url of a running one, not both"
            )
        if self.transport not in ("http", "sse"):
            raise ConfigError(f"unknown MCP transport {self.transport!r}; expected one of: http, sse")

    def __repr__(self) -> str:
        return f"Endpoint({self.command or self.transport})"  # addresses, arguments and headers may contain keys


@asynccontextmanager
async def open_client(
    endpoint: Endpoint, access: Access, name: str, answers: Callable[[], Answers], session: Session
) -> AsyncGenerator[Client]:
    from mcp import Client
    from mcp_types import Implementation, ToolListChangedNotification

    handlers = answers()

    async def on_message(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            session.tools_changed = True

    client = Client(
        _open_watched(endpoint, access, session),
        client_info=Implementation(name="treadle", version="1"),
        message_handler=on_message,
        elicitation_callback=None if handlers.elicitation is None else _elicit(handlers.elicitation),
        sampling_callback=None if handlers.sampling is None else _sample(handlers.sampling),
        list_roots_callback=_roots(handlers.roots) if handlers.roots else None,
        logging_callback=partial(_log, name),
        log_level=cast("Any", handlers.log_level or None),
    )
    async with client:
        if handlers.log_level and client.server_capabilities.logging is not None:
            with warnings.catch_warnings(action="ignore"):  # deprecated in the newest version, used in all others
                asking = cast("Any", client).set_logging_level(handlers.log_level)
            with suppress(Exception):  # the newest version has no such request
                await asking
        yield client


def _roots(folders: Sequence[str]) -> Any:
    paths = [Path(folder).expanduser().absolute() for folder in folders]

    async def callback(context: Any) -> Any:
        from mcp_types import ListRootsResult, Root

        return ListRootsResult(roots=[Root(uri=cast("Any", path.as_uri()), name=path.name) for path in paths])

    return callback


async def _log(name: str, params: Any) -> None:
    """Pass a server's log message on as one short line without control characters: a stranger wrote it."""
    text = params.data if isinstance(params.data, str) else str(params.data)
    line = "".join(char if char.isprintable() else " " for char in text[:_LOGGED])
    logger.log(_LEVELS.get(str(params.level), logging.INFO), "the MCP server %s: %s", name, line)


@asynccontextmanager
async def _open_watched(endpoint: Endpoint, access: Access, session: Session) -> AsyncGenerator[tuple[Any, Any]]:
    async with AsyncExitStack() as stack:
        reads, writes = await stack.enter_async_context(await _transport(endpoint, access, stack, session))
        yield WatchedStream(reads, lambda: session.lose("the server closed the connection")), writes


async def _transport(endpoint: Endpoint, access: Access, stack: AsyncExitStack, session: Session) -> Any:
    if endpoint.command:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command=endpoint.command, args=list(endpoint.args), env=dict(endpoint.env) or None, cwd=endpoint.cwd or None
        )
        # A server's standard error would disturb our own display; it is kept for the report of its death.
        session.errors = stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))  # noqa: SIM115 - the stack closes it
        stack.callback(session.read_stderr)
        return stdio_client(parameters, errlog=session.errors)
    from treadle._tools.mcp.auth.flow import open_flow
    from treadle._tools.mcp.auth.guarded_http import http_client

    auth = await open_flow(access, stack)
    if endpoint.transport == "sse":
        from mcp.client.sse import sse_client

        return sse_client(endpoint.url, dict(endpoint.headers), auth=auth, httpx_client_factory=http_client)
    from mcp.client.streamable_http import streamable_http_client

    http = await stack.enter_async_context(http_client(dict(endpoint.headers), auth=auth))
    return streamable_http_client(endpoint.url, http_client=http)


def _elicit(ask: Elicitation) -> Any:
    async def callback(context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult

        schema = getattr(params, "requested_schema", None)
        if schema is None:  # it asks for a browser to be opened, which is not done without consent
            return ElicitResult(action="decline")
        answer = await ask(params.message, schema)
        if answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=dict(answer))

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


def _part(block: Any) -> Part | None:
    if block.type == "audio":
        return AudioPart(data=block.data, mime=block.mime_type)
    if block.type == "image":
        return ImagePart(data=block.data, mime=block.mime_type)
    return TextPart(block.text) if block.type == "text" else None
