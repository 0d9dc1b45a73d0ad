"""A toolkit as an MCP server, over stdio or HTTP on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treadle._flows.direct.calls import DirectCalls
from treadle._flows.listening import listen
from treadle._tools.base import ToolOutcome
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import MissingExtraError
from treadle._types.events import Artifact
from treadle._types.messages import AudioPart, ImagePart, MediaPart

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp_types import CallToolRequestParams, CallToolResult, ContentBlock


class _Progress:
    """What a tool shows while it works, sent to the client as progress."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._count = 0
        self._sending: set[asyncio.Task[None]] = set()

    def output(self, text: str) -> None:
        self._count += 1
        task = asyncio.ensure_future(self._session.report_progress(self._count, None, text))
        self._sending.add(task)
        task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled():
            task.exception()  # a client that does not listen is no failure of the tool

    async def flush(self) -> None:
        if self._sending:
            await asyncio.wait(self._sending)


def make_server(toolkit: Toolkit, name: str = "treadle") -> Server[Any]:
    """Every tool that needs no approval; there is nobody here who could give one."""
    try:
        import mcp_types as types
        from mcp.server import Server
    except ImportError:
        raise MissingExtraError("serving over MCP", "mcp") from None
    open_to_all = toolkit.filtered(lambda tool: tool.approval == "allow")
    calls = DirectCalls(open_to_all, name=name)

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    description=tool.description,
                    input_schema=dict(tool.parameters),
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.effect == "pure", idempotent_hint=tool.effect in ("pure", "idempotent")
                    ),
                )
                for tool in open_to_all
            ]
        )

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        progress = _Progress(context.session)
        outcome = await calls.call(params.name, dict(params.arguments or {}), progress.output)
        await progress.flush()
        return types.CallToolResult(content=_blocks(outcome), is_error=bool(outcome.error))

    return Server(name, on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_mcp(toolkit: Toolkit, *, name: str = "treadle", port: int | None = None) -> None:
    """Serve a toolkit to MCP clients: over standard input and output, or with `port` over HTTP on this machine."""
    await (serve_stdio(toolkit, name) if port is None else serve_http(toolkit, port, name))


async def serve_stdio(toolkit: Toolkit, name: str = "treadle") -> None:
    """Until the client closes our standard input."""
    server = make_server(toolkit, name)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def serve_http(
    toolkit: Toolkit, port: int, name: str = "treadle", on_ready: Callable[[str], None] | None = None
) -> None:
    """On loopback only: whoever reaches the port may use the tools."""
    app = make_server(toolkit, name).streamable_http_app(host="127.0.0.1")
    import uvicorn

    [listening] = listen("127.0.0.1", port, "--http")
    with listening:
        if on_ready is not None:
            on_ready(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listening])


def _blocks(outcome: ToolOutcome) -> list[ContentBlock]:
    from mcp_types import AudioContent, ImageContent, TextContent

    parts = [outcome.content] if isinstance(outcome.content, str) else outcome.content
    blocks: list[ContentBlock] = []
    for part in parts:
        if isinstance(part, ImagePart) and part.data:
            blocks.append(ImageContent(data=part.data, mime_type=part.mime))
        elif isinstance(part, AudioPart) and part.data:
            blocks.append(AudioContent(data=part.data, mime_type=part.mime))
        elif isinstance(part, MediaPart):
            blocks.append(TextContent(text=part.text or part.url or f"[{part.name or 'file'}: {part.mime}]"))
        else:
            blocks.append(TextContent(text=part if isinstance(part, str) else part.text))
    return blocks + [_resource(artifact) for artifact in outcome.artifacts]


def _resource(artifact: Artifact) -> ContentBlock:
    from urllib.parse import quote

    from mcp_types import BlobResourceContents, EmbeddedResource, TextResourceContents

    uri = f"artifact:///{quote(artifact.name)}"
    if artifact.base64:
        return EmbeddedResource(resource=BlobResourceContents(uri=uri, blob=artifact.content, mime_type=artifact.mime))
    return EmbeddedResource(resource=TextResourceContents(uri=uri, text=artifact.content, mime_type=artifact.mime))
