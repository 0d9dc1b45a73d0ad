"""Prompts and the addresses of resources."""

from __future__ import annotations

import pytest

from kit import go
from treadle import Agent, McpPrompt, McpResource, ScriptedModel, Toolkit
from treadle._cli.commands.mcp import agent_prompt

pytest.importorskip("mcp")
from mcp import Client, MCPError

from treadle._server.mcp.server import make_server


def test_prompts_and_their_arguments():
    agent = Agent(ScriptedModel([]), None, name="Poet", system="Answer in rhyme.")

    def broken() -> str:
        raise RuntimeError("a path: /home/somebody/secret")

    async def main() -> None:
        prompts = [agent_prompt(agent), McpPrompt(name="broken", render=broken)]
        async with Client(make_server(Toolkit([]), prompts=prompts)) as client:
            listed = (await client.list_prompts()).prompts[0]
            assert (listed.name, [it.name for it in listed.arguments or []]) == ("Poet", ["question"])
            [message] = (await client.get_prompt("Poet", {"question": "Why?"})).messages
            assert getattr(message.content, "text", "") == "Answer in rhyme.\n\nWhy?"
            with pytest.raises(MCPError, match="needs question"):
                await client.get_prompt("Poet", {})
            with pytest.raises(MCPError) as caught:
                await client.get_prompt("broken", {})
            assert caught.value.message == "the prompt broken failed"

    go(main())


def test_the_names_in_an_address_are_whole_parts_of_it():
    resource = McpResource(uri="shop://items/{id}/price", name="price", read=lambda id: id)
    assert resource.values_in("shop://items/a%2Fb/price") == {"id": "a/b"}
    assert resource.values_in("shop://items/a/b/price") is None
    assert resource.values_in("shop://items//price") is None
    assert resource.values_in(f"shop://items/{'x' * 3000}/price") is None
