"""Tools, resources and prompts as an MCP server, over stdio or HTTP on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treadle._server.listening import listen
from treadle._server.mcp.values import McpPrompt, McpResource
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import MissingExtraError
from treadle._version import __version__

if TYPE_CHECKING:
    from mcp.server import Server


def make_server(
    toolkit: Toolkit,
    name: str = "treadle",
    *,
    resources: Sequence[McpResource] = (),
    prompts: Sequence[McpPrompt] = (),
) -> Server[Any]:
    """Every tool that needs no approval; there is nobody here who could give one."""
    try:
        from mcp.server import Server
        from mcp_types import SetLevelRequestParams
    except ImportError:
        raise MissingExtraError("serving over MCP", "mcp") from None
    from treadle._server.mcp.handlers import Handlers

    does = Handlers(toolkit, name, resources, prompts)
    with_resources: dict[str, Any] = {
        "on_list_resources": does.list_resources,
        "on_list_resource_templates": does.list_templates,
        "on_read_resource": does.read_resource,
        "on_subscribe_resource": does.subscribe,
        "on_unsubscribe_resource": does.unsubscribe,
    }
    with_prompts: dict[str, Any] = {"on_list_prompts": does.list_prompts, "on_get_prompt": does.get_prompt}
    server: Server[Any] = Server(
        name,
        version=__version__,
        on_list_tools=does.list_tools,
        on_call_tool=does.call_tool,
        on_completion=does.complete,
        **(with_resources if resources else {}),
        **(with_prompts if prompts else {}),
    )
    # Not as an argument, which warns: the newest version of the protocol has no levels, all others have.
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, does.set_level)
    return server


async def serve_mcp(
    toolkit: Toolkit,
    *,
    name: str = "treadle",
    port: int | None = None,
    resources: Sequence[McpResource] = (),
    prompts: Sequence[McpPrompt] = (),
) -> None:
    """Serve a toolkit to MCP clients, over standard input and output, or HTTP with `port`."""
    server = make_server(toolkit, name, resources=resources, prompts=prompts)
    await (serve_stdio(server) if port is None else serve_http(server, port))


async def serve_stdio(server: Server[Any]) -> None:
    """Until the client closes our standard input."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def serve_http(server: Server[Any], port: int, on_ready: Callable[[str], None] | None = None) -> None:
    """On loopback only: whoever reaches the port may use the tools."""
    from treadle._server.mcp.handlers import RecentEvents

    app = server.streamable_http_app(host="127.0.0.1", event_store=RecentEvents(), retry_interval=500)
    import uvicorn

    [listening] = listen("127.0.0.1", port, "--http")
    with listening:
        if on_ready is not None:
            on_ready(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp")
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[listening])
