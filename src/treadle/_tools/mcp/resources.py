"""Resources and prompts of an MCP server: listed, and read like the result of a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from treadle._tools.base import ToolResponse
from treadle._tools.mcp.content import to_response

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Prompt, Resource, ResourceTemplate

MAX_PAGES = 100


async def every_page(ask: Callable[[str | None], Awaitable[Any]], items: str) -> tuple[Any, ...]:
    """All items of a list that comes in pages; a server whose pages never end is left after many."""
    listed: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await ask(cursor)
        listed += getattr(page, items)
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(listed)


async def list_resources(client: Client) -> tuple[Resource | ResourceTemplate, ...]:
    """The resources, then the templates."""
    if client.server_capabilities.resources is None:
        return ()
    plain = await every_page(lambda at: client.list_resources(cursor=at, cache_mode="refresh"), "resources")
    templates = await every_page(
        lambda at: client.list_resource_templates(cursor=at, cache_mode="refresh"), "resource_templates"
    )
    return (*plain, *templates)


async def list_prompts(client: Client) -> tuple[Prompt, ...]:
    if client.server_capabilities.prompts is None:
        return ()
    return await every_page(lambda at: client.list_prompts(cursor=at, cache_mode="refresh"), "prompts")


async def read_resource(client: Client, uri: str) -> ToolResponse:
    from mcp_types import CallToolResult, EmbeddedResource

    contents = (await client.read_resource(uri, cache_mode="refresh")).contents
    return to_response(CallToolResult(content=[EmbeddedResource(resource=content) for content in contents]))


async def get_prompt(client: Client, name: str, arguments: Mapping[str, str]) -> ToolResponse:
    """The prompt's messages, one after the other."""
    from mcp_types import CallToolResult

    result = await client.get_prompt(name, dict(arguments))
    return to_response(CallToolResult(content=[message.content for message in result.messages]))
