"""`treadle mcp serve`, asked by our own client."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kit import add, call, go
from programs import python
from treadle import Agent, Artifact, ScriptedModel, Toolkit, ToolResponse, tool
from treadle._cli.commands.mcp import question_tool
from treadle._flows.direct_calls import DirectCalls
from treadle._journal.memory import MemoryJournal
from treadle._safety.personal.vault import PLACEHOLDER
from treadle._server.mcp.own_resources import run_resources
from treadle._server.mcp.server import make_server, serve_http
from treadle._tools.base import ToolContext
from treadle._tools.mcp.client import McpConnection
from treadle._types.messages import ImagePart
from treadle.plugins import PersonalData

pytest.importorskip("mcp")


def test_agents_and_tools_over_stdio(tmp_path: Path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"calls": [{"name": "calculator", "args": {"expression": "6*7"}}]}, "It is 42."]))
    document = tmp_path / "agent.json"
    params = {"preset": "default", "tools": [{"component_name": "calculator"}], "description": "Works things out."}
    document.write_text(json.dumps({"Agent:Math": {"obj": {"component_name": "Agent", "params": params}}}))
    args = [
        "-m",
        "treadle._cli.main",
        "mcp",
        "serve",
        "-f",
        str(document),
        "-m",
        f"scripted:{script}",
        "-t",
        "calculator",
    ]
    source = str(Path(__file__).resolve().parents[3] / "src")
    program, *before = python()
    server = McpConnection("ours", command=program, args=[*before, *args], env={"PYTHONPATH": source})

    async def main() -> None:
        tools = await server.tools()
        assert [(tool.name, tool.effect) for tool in tools] == [("Math", "unsafe"), ("calculator", "unsafe")]
        hints = [tool.annotations.read_only_hint for tool in await server.listed() if tool.annotations]
        assert hints == [False, True], "a hint for whoever reviews them"
        assert tools[0].description == "Works things out."
        assert (await server.call("calculator", {"expression": "2+3"})).observation[0].text == "5"
        said = await server.call("Math", {"question": "6*7?"})
        assert (said.observation[0].text, said.error) == ("It is 42.", False)
        assert (await server.call("calculator", {"wrong": 1})).error

    go(main(), 60)


@tool
async def picture(context: ToolContext) -> ToolResponse:
    """Make things."""
    context.output("painting")
    return ToolResponse(
        ["here", ImagePart(data="AAEC")],
        artifacts=(Artifact("page.html", "<p>", "text/html"), Artifact("a.bin", "AAEC", base64=True)),
    )


def test_all_content_over_http_and_what_needs_approval_is_not_offered():
    kit = Toolkit(
        [picture, add.replace(approval="ask"), question_tool(Agent(ScriptedModel(["hello"]), None, name="my agent"))]
    )

    async def main() -> None:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(serve_http(make_server(kit), 0, on_ready=ready.set_result))
        server = McpConnection("ours", url=await ready)
        assert [tool.name for tool in await server.tools()] == ["picture", "my_agent"]

        class Context:
            run_id = call_id = idempotency_key = "x"
            run = None
            said = ""

            def output(self, text: str) -> None:
                self.said += text

        context = Context()
        made = await server.call("picture", {}, context)
        assert [type(piece).__name__ for piece in made.observation] == [
            "TextPart",
            "ImagePart",
            "TextPart",
            "TextPart",
            "Artifact",
        ]
        assert "painting" in context.said
        assert (await server.call("my_agent", {"question": "hi"})).observation[0].text == "hello"
        await server.close()
        serving.cancel()
        await asyncio.wait([serving])

    go(main(), 60)


def test_an_agent_that_waits_for_a_person_is_an_error_with_words_and_no_empty_answer():
    waits = Agent(ScriptedModel([call("add", a=1, b=2), "three"]), [add.replace(approval="ask")], name="sums")
    outcome = go(DirectCalls(Toolkit([question_tool(waits)])).call("sums", {"question": "1+2?"}))
    assert outcome.error
    assert outcome.content == (
        "There is no answer: it waits for a person's approval, which cannot be given over MCP: add (approval of add)."
    )


def test_the_client_of_an_agent_reads_the_data_that_no_model_and_no_journal_has():
    model = ScriptedModel(lambda r: f"It is {PLACEHOLDER.search(str(r.messages))[0]}.", chunk=2)  # type: ignore[index]
    journal = MemoryJournal()
    agent = Agent(model, None, name="helper", journal=journal, plugins=[PersonalData()])

    async def main() -> None:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        served = make_server(Toolkit([question_tool(agent)]), resources=run_resources(journal))
        serving = asyncio.ensure_future(serve_http(served, 0, on_ready=ready.set_result))
        server = McpConnection("ours", url=await ready)
        said = await server.call("helper", {"question": "Who is anna@example.org?"})
        assert said.observation[0].text == "It is anna@example.org."
        [run] = await journal.list()
        assert "anna" not in str(await journal.load(run.run_id))
        assert "anna" not in str([request.messages for request in model.requests])
        await server.close()
        serving.cancel()
        await asyncio.wait([serving])

    go(main(), 60)
