"""A served tool tells and asks the client it works for."""

from __future__ import annotations

from typing import Any

import pytest

from kit import go
from treadle import McpPeer, ToolContext, Toolkit, tool

pytest.importorskip("mcp")
from mcp import Client
from mcp_types import ElicitResult, EmptyResult, SetLevelRequest, SetLevelRequestParams

from treadle._server.mcp.server import make_server


@tool
async def work(context: ToolContext[McpPeer]) -> str:
    """Work and tell."""
    await context.deps.log("debug", "small")
    await context.deps.log("warning", "big")
    answer = await context.deps.ask("How many?", {"type": "object", "properties": {"n": {"type": "integer"}}})
    return "declined" if answer is None else f"{answer['n']}"


@pytest.mark.parametrize(("level", "heard"), [("debug", ["small", "big"]), ("error", [])])
def test_a_served_tool_logs_at_the_level_of_the_client_and_asks_its_user(level: Any, heard: list[str]):
    logged: list[Any] = []

    async def on_log(params: Any) -> None:
        logged.append(params.data)

    async def on_ask(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"n": 7})

    async def main() -> str:
        server = make_server(Toolkit([work]))
        async with Client(server, mode="legacy", logging_callback=on_log, elicitation_callback=on_ask) as client:
            await client.session.send_request(SetLevelRequest(params=SetLevelRequestParams(level=level)), EmptyResult)
            result = await client.call_tool("work", {})
            return getattr(result.content[0], "text", "")

    assert go(main()) == "7"
    assert logged == heard


def test_a_client_that_cannot_be_asked_is_an_error_of_the_call():
    async def main() -> Any:
        async with Client(make_server(Toolkit([work])), mode="legacy") as client:
            return await client.call_tool("work", {})

    result = go(main())
    assert result.is_error
    assert "does not offer elicitation" in result.content[0].text
