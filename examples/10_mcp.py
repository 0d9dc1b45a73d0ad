"""Tools of an MCP server: this file is the server, too (run with `serve`). Needs the extra `mcp`."""

import asyncio
import sys

from treadle import Agent, McpServer, McpTools, ScriptedModel, Toolkit, serve_mcp, tool


@tool(effect="pure")
def turn_around(text: str) -> str:
    """Turn a text around."""
    return text[::-1]


async def main() -> None:
    server = McpServer("words", command=sys.executable, args=[__file__, "serve"])
    model = ScriptedModel([{"name": "turn_around", "args": {"text": "eldaert"}}, "It says treadle."])
    async with Agent(model, plugins=[McpTools(server)]) as agent:  # ends the server, too
        result = await agent.run("What is eldaert backwards?")
    print(result.answer)
    for step in result.steps:
        print(f"  {step.tool}({step.args}) -> {step.observation}")
    assert result.steps[0].observation == "treadle"


if sys.argv[1:] == ["serve"]:
    asyncio.run(serve_mcp(Toolkit([turn_around])))
else:
    asyncio.run(main())
