"""A small MCP server for the tests: over stdio, with an argument PORT over HTTP, with `PORT sse` over SSE."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("test")
PURE = ToolAnnotations(read_only_hint=True)
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@server.tool(annotations=PURE)
async def custom_tool(text: str) -> str:
    """Turn a text around."""
    return text[::-1]


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
async def pid() -> str:
    """Tell the process."""
    return str(os.getpid())


@server.tool()
async def everything() -> CallToolResult:
    """Content of all kinds."""
    return CallToolResult(
        content=[
            TextContent(text="first"),
            TextContent(text="second"),
            ImageContent(data=DOT, mime_type="image/png"),
            AudioContent(data="UklGRg==", mime_type="audio/wav"),
            EmbeddedResource(resource=TextResourceContents(uri="note://one", text="a note")),
            EmbeddedResource(
                resource=BlobResourceContents(uri="file:///data.bin", blob="AAEC", mime_type="application/zip")
            ),
            ResourceLink(uri="https://example.org/x", name="x", description="elsewhere"),
        ],
        structured_content={"answer": 42},
    )


@server.tool()
async def bad() -> CallToolResult:
    """Report an error."""
    return CallToolResult(content=[TextContent(text="no such city")], is_error=True)


@server.tool()
async def slow(ctx: Context, seconds: float, mark: str = "") -> str:
    """Take a while; write to the file `mark` when cancelled."""
    try:
        for step in range(10):
            await ctx.report_progress(step, 10, "working")
            await asyncio.sleep(seconds / 10)
    except asyncio.CancelledError:
        if mark:
            Path(mark).write_text("cancelled")  # noqa: ASYNC240
        raise
    return "done"


@server.tool()
async def die(unsafe: bool = True) -> str:
    """Kill the server."""
    os._exit(3)


@server.tool(annotations=PURE)
async def die_once(mark: str) -> str:
    """Kill the server the first time."""
    if not os.path.exists(mark):  # noqa: ASYNC240
        Path(mark).write_text("died")  # noqa: ASYNC240
        os._exit(3)
    return "alive"


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one more tool."""

    async def grown(word: str) -> str:
        return f"grown {word}"

    server.add_tool(grown, name="grown", description="A new one.")
    await ctx.notify_tools_changed()
    return "grown is there now"


@server.tool()
async def ask_user(ctx: Context) -> str:
    """Ask the user for a name."""
    from pydantic import BaseModel

    class Name(BaseModel):
        name: str

    result = await ctx.elicit("What is your name?", Name)
    return f"{result.action}: {result.data.name if result.action == 'accept' else ''}"


@server.tool(name="odd name.with/signs")
async def odd(value: int) -> str:
    """Its name suits no provider."""
    return str(value + 1)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("sse", port=int(sys.argv[1]))
    elif len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
