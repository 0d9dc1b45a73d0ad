"""An agent elsewhere as a tool: against our own server, and against the official SDK's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kit import call, go, until
from server.serving import ANN as TOKEN
from server.serving import TOKENS, relaxed, serving
from tools.builtin.loopback import serving as site
from treadle import Agent, ScriptedModel, builtin, external_tool, tool

AUTH = {"auth": "PEER_TOKEN"}


def ask(url: str, *calls: dict[str, Any], **options: Any) -> list[str]:
    agent = Agent(ScriptedModel([*calls, "Done."]), [builtin("a2a", url=url, **options)])
    return [step.observation for step in go(agent.run("Go.")).steps]


def asked(message: str, **more: Any) -> dict[str, Any]:
    return call("ask_agent", message=message, **more)


def test_an_answer_a_question_and_a_failure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PEER_TOKEN", TOKEN)
    look = external_tool("look", "Looks.", {"type": "object", "properties": {}})
    agents = {
        "adder": Agent(ScriptedModel(["It is 5."])),
        "looker": Agent(ScriptedModel([call("look"), "A cat."]), [look]),
        "failing": Agent(ScriptedModel([ValueError("boom")])),
    }
    with serving(agents, tokens=TOKENS, settings=relaxed(open_cards=False)) as server:
        url = f"{server.address}/a2a"
        assert ask(f"{url}/adder", asked("2+3?"), **AUTH) == ["It is 5."]
        (question,) = ask(f"{url}/looker", asked("What is there?"), **AUTH)
        assert question.startswith("The agent asks: ")
        task = question.rpartition("task='")[2].partition("'")[0]
        assert ask(f"{url}/looker", asked("a cat", task=task), **AUTH) == ["A cat."]
        assert "was not done (failed)" in ask(f"{url}/failing", asked("?"), **AUTH)[0]
        assert "HTTP 401" in ask(f"{url}/adder", asked("?"))[0]
        assert "404" in ask(f"{url}/nobody", asked("?"), **AUTH)[0]


def test_a_run_that_is_stopped_cancels_the_task_there():
    started: list[str] = []

    @tool
    async def wait() -> str:
        """Wait."""
        started.append("wait")
        await asyncio.sleep(60)
        return "never"

    async def work(server: Any) -> None:
        ours = Agent(ScriptedModel([asked("Wait.")]), [builtin("a2a", url=f"{server.address}/a2a/slow")])
        run = ours.start("Go.")
        await until(lambda: started)
        run.cancel()
        assert (await run).stop_reason == "cancelled"
        await until(lambda: [one["stop_reason"] for one in server.get("/api/runs")["runs"]] == ["cancelled"])

    with serving({"slow": Agent(ScriptedModel([call("wait")]), [wait])}) as server:
        go(work(server))


def card(url: str, **fields: Any) -> dict[str, Any]:
    return {"supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", **fields}]}


@pytest.mark.parametrize(
    ("pages", "problem"),
    [
        (lambda url: {"/.well-known/agent-card.json": card("https://elsewhere.example/x")}, "names another server"),
        (lambda url: {"/.well-known/agent-card.json": card(url, protocolVersion="0.3")}, "does not speak A2A 1.0"),
        (lambda url: {"/.well-known/agent-card.json": [1]}, "does not have the expected form"),
        (lambda url: {}, "404"),
        (lambda url: {"/.well-known/agent-card.json": card(url), "/": {"result": {"task": 5}}}, "was not done"),
        (lambda url: {"/.well-known/agent-card.json": card(url), "/": {"error": {"message": "no"}}}, "refused: no"),
        (lambda url: {"/.well-known/agent-card.json": card(url), "/": "nonsense"}, "expected form"),
    ],
    ids=["card elsewhere", "0.3", "no card", "nothing", "no task", "error", "no JSON"],
)
def test_hostile_agents(pages: Any, problem: str):
    async def work() -> str:
        served: dict[str, Any] = {}
        async with site(served) as server:
            served.update(pages(f"{server.url}/"))
            agent = Agent(ScriptedModel([asked("?"), "Done."]), [builtin("a2a", url=server.url)])
            return (await agent.run("Go.")).steps[0].observation

    assert problem in go(work())
