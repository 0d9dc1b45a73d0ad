"""Running the components of a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import ScriptedModel
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent, sorted_components
from treadle._journal.memory import MemoryJournal
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase
from treadle._types.errors import ConfigError
from treadle._types.events import StepDone
from treadle._types.messages import text_of

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


def test_components_run_in_the_order_of_their_links():
    model = ScriptedModel([call("calculator", expression="6*7"), "42", "forty-two"])
    agent = GraphAgent(parse_document(GRAPH), Path(), model=model)

    async def main() -> None:
        run = agent.start("6*7?")
        result = await run
        assert result.answer == "Result: forty-two"
        assert [r.event.step for r in run.records if isinstance(r.event, StepDone)] == ["Agent:First", "Agent:Second"]
        assert text_of(model.requests[-1].messages[-1].content) == "Improve: 42 for 6*7?"
        assert result.usage.requests == 3

    go(main())


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
    assert "1655" in text_of(model.requests[0].messages[-1].content)


def test_a_component_that_fails_ends_the_run():
    data = {
        "calculator:Sum": {
            "obj": {"component_name": "calculator", "params": {"arguments": {"expression": "{{sys.query}}"}}},
            "downstream": ["Agent:A"],
        },
        "Agent:A": component("Agent"),
    }
    model = ScriptedModel(["never asked"])
    result = go(GraphAgent(parse_document(data), Path(), model=model).run("1/"))
    assert (result.stop_reason, result.success, model.requests) == ("error", False, [])


def test_a_graph_is_resumed_after_a_crash():
    model = ScriptedModel(["42", "forty-two"])
    journal = MemoryJournal()

    async def main() -> None:
        first = GraphAgent(parse_document(GRAPH), Path(), model=model, journal=journal)
        run = first.start("q")
        await run
        cut = next(r.seq for r in run.records if isinstance(r.event, StepDone))
        await journal.append([type(r)("copy", r.seq, r.time, r.event) for r in run.records if r.seq <= cut])
        again = ScriptedModel(["better"])
        result = await GraphAgent(parse_document(GRAPH), Path(), model=again, journal=journal).resume("copy")
        assert result.answer == "Result: better"
        assert len(again.requests) == 1

    go(main())


def test_a_message_without_content_repeats_what_comes_before_it():
    data = {"Agent:A": component("Agent"), "Message:M": component("Message", upstream=["Agent:A"])}
    assert go(GraphAgent(parse_document(data), Path(), model=ScriptedModel(["hello"])).run("q")).answer == "hello"


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
