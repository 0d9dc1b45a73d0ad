"""Running the components of a document."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from kit import call, go, until
from treadle import ScriptedModel
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._config.links import sorted_components
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase
from treadle._types.errors import ConfigError
from treadle._types.events import StepDone
from treadle._types.messages import SystemMessage, text_of

SAMPLE = Path(__file__).resolve().parent.parent / "data" / "config" / "research.json"
GRAPH: dict[str, Any] = {
    "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:First"]},
    "Agent:First": {
        "obj": {
            "component_name": "Agent",
            "params": {"preset": "default", "tools": [{"component_name": "calculator"}]},
        },
        "downstream": ["Agent:Second"],
    },
    "Agent:Second": {
        "obj": {
            "component_name": "Agent",
            "params": {
                "preset": "default",
                "prompts": [{"role": "user", "content": "Improve: {{Agent:First@content}} for {{sys.query}}"}],
            },
        },
        "downstream": ["Message:Out"],
    },
    "Message:Out": {"obj": {"component_name": "Message", "params": {"content": ["Result: {{Agent:Second@content}}"]}}},
}


BOSS: dict[str, Any] = {"preset": "default"}


def component(name: str, **links: Any) -> dict[str, Any]:
    return {"obj": {"component_name": name, "params": {"preset": "default"} if name == "Agent" else {}}, **links}


async def test_components_run_in_the_order_of_their_links():
    model = ScriptedModel([call("calculator", expression="6*7"), "42", "forty-two"])
    agent = GraphAgent(parse_document(GRAPH), Path(), model=model)
    run = agent.start("6*7?")
    result = await run
    assert result.answer == "Result: forty-two"
    assert [r.event.step for r in run.records if isinstance(r.event, StepDone)] == ["Agent:First", "Agent:Second"]
    assert text_of(model.requests[-1].messages[-1].content) == "Improve: 42 for 6*7?"
    assert result.usage.requests == 3


def test_a_tool_as_a_component_and_an_agent_as_a_tool(tmp_path: Path):
    base = KnowledgeBase(tmp_path / "kb.db")
    (tmp_path / "lighthouse.txt").write_text("The lighthouse of Lindesnes was built in 1655.")
    base.add(tmp_path / "lighthouse.txt")
    helper = {
        "component_name": "Agent",
        "id": "Boss-->helper",
        "params": {"preset": "default", "description": "Helps.", "user_prompt": "Help"},
    }
    prompts = [{"role": "user", "content": "{{sys.query}}\nNotes: {{Retrieval:Notes@content}}"}]
    data = {
        "version": 1,
        "knowledge_bases": {"notes": "kb.db"},
        "components": {
            "Retrieval:Notes": {
                "obj": {"component_name": "Retrieval", "params": {"kb_ids": ["notes"]}},
                "downstream": ["Agent:Boss"],
            },
            "Agent:Boss": {
                "obj": {"component_name": "Agent", "params": {**BOSS, "prompts": prompts, "tools": [helper]}}
            },
        },
    }
    model = ScriptedModel([call("helper", reasoning="r", context="c"), "helped", "built in 1655"])
    result = go(GraphAgent(parse_document(data), tmp_path, model=model).run("When was the lighthouse built?"))
    assert result.answer == "built in 1655"
    assert "1655" in str(model.requests[0].messages)


def test_a_component_that_fails_ends_the_run():
    data = {
        "calculator:Sum": {
            "obj": {"component_name": "calculator", "params": {"arguments": {"expression": "{{sys.query}}"}}},
            "downstream": ["Agent:A"],
        },
        "Agent:A": component("Agent"),
    }
    model = ScriptedModel(["never asked"])
    result = go(GraphAgent(parse_document(data), Path(), model=model).run("1/", on_error="result"))
    assert (result.stop_reason, result.success, model.requests) == ("error", False, [])


@pytest.mark.parametrize("links", [{"downstream": ["B"]}, {}])
def test_a_link_may_be_given_on_either_side(links: dict[str, Any]):
    data = {"B": component("Agent", **({} if links else {"upstream": ["A"]})), "A": component("Agent", **links)}
    assert sorted_components(parse_document(data), "x") == ["A", "B"]


def test_a_cycle_is_named():
    data = {
        "A": component("Agent", downstream=["B"]),
        "B": component("Agent", downstream=["A"]),
        "C": component("Agent"),
    }
    with pytest.raises(ConfigError, match="the components A, B follow each other in a cycle: remove one of the links"):
        sorted_components(parse_document(data), "x")


def test_a_document_without_an_agent_is_refused():
    with pytest.raises(ConfigError, match="x: a document needs at least one component named Agent"):
        GraphAgent(parse_document({"begin": component("Begin")}), Path(), where="x")


# ---- one run like any other


def document(**params: Any) -> dict[str, Any]:
    return {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:A"]},
        "Agent:A": {"obj": {"component_name": "Agent", "params": {"preset": "default", **params}}},
        "Message:M": {
            "obj": {"component_name": "Message", "params": {"content": ["<{{Agent:A@content}}>"]}},
            "upstream": ["Agent:A"],
        },
    }


def graph(model: ScriptedModel, *, options: Any = None, **params: Any) -> GraphAgent:
    return GraphAgent(parse_document(document(**params)), Path(), model=model, **(options or {}))


HISTORY = [{"role": "user", "content": "EARLIER"}, {"role": "assistant", "content": "REPLY"}]


def test_agents_know_the_conversation_and_the_user():
    users: list[str] = []

    class Watches(Plugin):
        name = "watches"

        async def on_start(self, run: RunContext) -> None:
            users.append(run.user)

    model = ScriptedModel(["hello"])
    agent = graph(model, options={"plugins": [Watches()]})
    assert go(agent.run("q", history=HISTORY, user="ada")).answer == "<hello>"
    assert [text_of(getattr(m, "content", "") or m.text) for m in model.requests[0].messages][-3:] == [
        "EARLIER", "REPLY", "q",
    ]  # fmt: skip
    assert users == ["ada", "ada"], "the document and its agent"


def test_a_system_prompt_stays_one_and_an_exchange_stays_an_exchange():
    model = ScriptedModel(["hello"])
    prompts = [
        {"role": "system", "content": "Answer {{sys.user}}."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three: {{sys.query}}"},
    ]
    go(graph(model, prompts=prompts, sys_prompt="For {{sys.query}}").run("q", user="ada"))
    system, *rest = model.requests[0].messages
    assert isinstance(system, SystemMessage)
    assert "For q" in system.text
    assert "Answer ada." in system.text
    assert [text_of(getattr(m, "content", "") or m.text) for m in rest] == ["one", "two", "three: q"]


def test_what_a_limit_forced_is_delivered_by_the_message():
    model = ScriptedModel(lambda r: "forced" if r.component == "final" else call("calculator", expression="1+1"))
    tools = [{"component_name": "calculator"}]
    result = go(graph(model, tools=tools, max_rounds=1).run("q"))
    assert (result.answer, result.stop_reason, result.success) == ("<forced>", "answer", True)
    assert result.metadata["document"]["Agent:A"]["stop_reason"] == "limit"


async def test_what_the_components_did_counts():
    model = ScriptedModel([call("calculator", expression="6*7"), "42"])
    data = document(tools=[{"component_name": "calculator"}])
    data["calculator:C"] = {
        "obj": {"component_name": "calculator", "params": {"arguments": {"expression": "1+1"}}},
        "downstream": ["Agent:A"],
    }
    result = await GraphAgent(parse_document(data), Path(), model=model).start("q")
    assert [(step.tool, step.observation) for step in result.steps] == [("calculator", "2"), ("calculator", "42")]
    assert (result.tools_used, result.iterations, result.usage.tool_calls) == (["calculator"], 2, 2)
    assert result.metadata["tool_calls_made"] == 2
    assert [used["name"] for used in result.outputs()["use_tools"]] == ["calculator"] * 2
    assert result.metadata["document"]["Agent:A"]["elapsed"] > 0


def test_an_agent_without_a_preset_analyses_and_reflects():
    replies = [
        "analysis", '[{"name": "calculator", "arguments": {"expression": "1+1"}}]', "reflection",
        '[{"name": "__complete_task__", "arguments": {}}]', "two",
    ]  # fmt: skip
    model = ScriptedModel(replies)
    data = document(tools=[{"component_name": "calculator"}])
    del data["Agent:A"]["obj"]["params"]["preset"]
    result = go(GraphAgent(parse_document(data), Path(), model=model).run("1+1?"))
    assert result.answer == "<two>"
    assert [request.component for request in model.requests] == ["analysis", "loop", "reflection", "loop", "complete"]


def test_a_component_that_fails_leaves_what_those_before_it_found():
    def script(request: Any) -> Any:
        if "Improve" in str(request.messages):
            raise RuntimeError("gone")
        return "42"

    result = go(GraphAgent(parse_document(GRAPH), Path(), model=ScriptedModel(script), retry={"attempts": 1}).run("q"))
    assert (result.stop_reason, result.success, result.answer) == ("error", False, "42")
    assert "Agent:Second" in str(result.error)


@pytest.mark.parametrize(
    ("replies", "reason", "says"),
    [([call("calculator", expression="6*7")], "error", "Last result: 42"), ([""] * 9, "empty", "")],
)
def test_a_component_that_fails_first_gives_its_own_account(replies: list[Any], reason: str, says: str):
    result = go(GraphAgent(parse_document(GRAPH), Path(), model=ScriptedModel(replies)).run("q"))
    assert (result.stop_reason, result.success) == (reason, False)
    assert result.answer.endswith(says)
    assert bool(result.answer) == bool(says)


def test_a_component_that_raises_at_its_limit_ends_the_document_at_the_limit():
    data = document(tools=[{"component_name": "calculator"}], preset="strict")
    model = ScriptedModel([call("calculator", expression="6*7")], repeat_last=True)
    result = go(GraphAgent(parse_document(data), Path(), model=model).run("q"))
    assert (result.stop_reason, result.success, result.iterations) == ("limit", False, 8)


def test_settings_of_a_run_reach_the_agents():
    model = ScriptedModel(lambda r: "forced" if r.component == "final" else call("calculator", expression="1+1"))
    result = go(graph(model, tools=[{"component_name": "calculator"}]).run("q", max_iterations=3))
    assert (result.iterations, result.metadata["document"]["Agent:A"]["stop_reason"]) == (3, "limit")


def test_several_knowledge_bases_are_searched_together(tmp_path: Path):
    for number, text in enumerate(("The lighthouse of Lindesnes was built in 1655.", "The lighthouse of Ryvingen.")):
        (tmp_path / f"{number}.txt").write_text(text)
        KnowledgeBase(tmp_path / f"{number}.db").add(tmp_path / f"{number}.txt")
    data = document(prompts=[{"role": "user", "content": "{{Retrieval:R@content}}"}])
    data["Retrieval:R"] = {
        "obj": {"component_name": "Retrieval", "params": {"kb_ids": ["one", "two"]}},
        "downstream": ["Agent:A"],
    }
    whole = {"components": data, "knowledge_bases": {"one": "0.db", "two": "1.db"}}
    model = ScriptedModel(["found"])
    assert go(GraphAgent(parse_document(whole), tmp_path, model=model).run("lighthouse")).answer == "<found>"
    chunks = json.loads(text_of(model.requests[0].messages[-2].content))["chunks"]
    assert {Path(chunk["document"]).name for chunk in chunks} == {"0.txt", "1.txt"}
    assert len({chunk["id"] for chunk in chunks}) == 2


async def test_a_document_that_is_cancelled_has_what_its_component_did():
    class Stops(Plugin):
        name = "stops"

        async def after_round(self, run: RunContext) -> None:
            stop.append(run)
            await asyncio.Event().wait()

    stop: list[RunContext] = []
    model = ScriptedModel([call("calculator", expression="6*7"), "never"])
    run = graph(model, tools=[{"component_name": "calculator"}], options={"plugins": [Stops()]}).start("q")
    await until(lambda: stop)
    run.cancel()
    result = await run
    assert (result.stop_reason, result.iterations, result.tools_used) == ("cancelled", 1, ["calculator"])
    assert result.usage.requests == 1
