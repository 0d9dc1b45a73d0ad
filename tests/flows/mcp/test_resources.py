"""What a server of ours offers beside tools: runs, knowledge bases, prompts, logs; asked by the SDK's client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit import add, call, go
from treadle import (
    Agent,
    KnowledgeBase,
    McpPeer,
    McpPrompt,
    McpResource,
    ScriptedModel,
    ToolContext,
    Toolkit,
    open_journal,
    tool,
)
from treadle._cli.commands.mcp import agent_prompt

pytest.importorskip("mcp")
from mcp import Client, MCPError
from mcp_types import ElicitResult

from treadle._flows.mcp.own_resources import knowledge_resources, run_resources
from treadle._flows.mcp.server import make_server


async def text(client: Client, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    return str(getattr(content, "text", ""))


def test_runs_are_resources(tmp_path: Path):
    async def main() -> None:
        journal = open_journal(str(tmp_path / "runs.db"))
        agent = Agent(ScriptedModel([call("add", a=1, b=2), "three"]), [add], journal=journal)
        result = await agent.run("1 + 2?")
        async with Client(make_server(Toolkit([]), resources=run_resources(journal))) as client:
            assert [it.uri for it in (await client.list_resources()).resources] == ["treadle://runs"]
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "treadle://runs/{id}"
            [listed] = json.loads(await text(client, "treadle://runs"))
            assert (listed["question"], listed["status"]) == ("1 + 2?", "finished")
            run = json.loads(await text(client, listed["uri"]))
            assert (run["run_id"], run["answer"]) == (result.run_id, "three")
            assert [(step["tool"], step["observation"]) for step in run["steps"]] == [("add", "3")]
            for wrong in ("treadle://runs/nope", "treadle://runs/a/b", "file:///etc/passwd"):
                with pytest.raises(MCPError, match="there is no"):
                    await client.read_resource(wrong)
        await journal.aclose()

    go(main())


def test_knowledge_bases_are_resources(tmp_path: Path):
    base = KnowledgeBase(tmp_path / "k.db")
    base.add("The lamp costs 12 euros.", name="prices")

    async def main() -> None:
        async with Client(make_server(Toolkit([]), resources=knowledge_resources({"shop": base}))) as client:
            assert json.loads(await text(client, "treadle://knowledge/shop")) == [{"name": "prices", "chunks": 1}]
            [found] = json.loads(await text(client, "treadle://knowledge/shop/search/what%20costs%20a%20lamp"))
            assert "12 euros" in found["text"]
            assert "12 euros" in await text(client, f"treadle://knowledge/shop/passages/{found['id']}")
            with pytest.raises(MCPError, match="no such passage"):
                await client.read_resource("treadle://knowledge/shop/passages/99")

    go(main())


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
            await client.session.send_request(_set_level(level), _empty())
            result = await client.call_tool("work", {})
            return getattr(result.content[0], "text", "")

    assert go(main()) == "7"
    assert logged == heard


def _set_level(level: Any) -> Any:
    from mcp_types import SetLevelRequest, SetLevelRequestParams

    return SetLevelRequest(params=SetLevelRequestParams(level=level))


def _empty() -> Any:
    from mcp_types import EmptyResult

    return EmptyResult


def test_a_client_that_cannot_be_asked_is_an_error_of_the_call():
    async def main() -> Any:
        async with Client(make_server(Toolkit([work])), mode="legacy") as client:
            return await client.call_tool("work", {})

    result = go(main())
    assert result.is_error
    assert "does not offer elicitation" in result.content[0].text


def test_the_names_in_an_address_are_whole_parts_of_it():
    resource = McpResource(uri="shop://items/{id}/price", name="price", read=lambda id: id)
    assert resource.values_in("shop://items/a%2Fb/price") == {"id": "a/b"}
    assert resource.values_in("shop://items/a/b/price") is None
    assert resource.values_in("shop://items//price") is None
    assert resource.values_in(f"shop://items/{'x' * 3000}/price") is None
