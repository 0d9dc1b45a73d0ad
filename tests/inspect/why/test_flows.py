"""A plan and a document are searched in the runs they are made of: the last first, then those that fed it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit import call
from treadle import DagAgent, Plugin, RunContext, ScriptedModel, find_causes, tool
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._flows.dag.plan import DagStep, Plan
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError
from treadle._types.messages import SystemMessage, ToolMessage, UserMessage, text_of

BAD = "Amounts are net."


def clerk(request: Any) -> Any:
    """Reads the bill by the rules of its prompt; who has none repeats what it is told."""
    if request.component == "planner":
        steps = [{"id": "read", "task": "Read bill 7."}, {"id": "tell", "task": "Tell it.", "dependencies": ["read"]}]
        return call("make_plan", steps=steps)
    if request.component == "analyzer":
        said = re.findall(r"Told: \d+", str(request.messages))
        return call("judge", achieved=True, confidence=1.0, reasoning="All read.", final_answer=said[-1])
    said = "\n".join(
        message.text if isinstance(message, SystemMessage) else text_of(message.content)
        for message in request.messages
        if isinstance(message, SystemMessage | UserMessage)
    )
    if "Read bill" in said and "Tell it" not in said:
        return "It is 100." if BAD in said else "It is 119."
    return "Told: 119." if "119" in said else "Told: 100."


def document(journal: MemoryJournal, bad: str = BAD) -> GraphAgent:
    def agent(prompt: str, after: str, **params: Any) -> dict[str, Any]:
        prompts = [{"role": "user", "content": prompt}]
        made = {"component_name": "Agent", "params": {"preset": "default", "prompts": prompts, **params}}
        return {"obj": made, "downstream": [after]}

    components = {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": ["Agent:Read"]},
        "Agent:Read": agent("Read bill 7.", "Agent:Tell", sys_prompt=f"Be kind.\n{bad}\nBe brief."),
        "Agent:Tell": agent("Tell it: {{Agent:Read@content}}", "Message:M"),
        "Message:M": {"obj": {"component_name": "Message", "params": {"content": ["{{Agent:Tell@content}}"]}}},
    }
    return GraphAgent(parse_document({"components": components}), Path(), model=ScriptedModel(clerk), journal=journal)


async def test_the_cause_in_an_earlier_component_of_a_document_is_found(tmp_path: Path):
    journal = MemoryJournal()
    made = document(journal)
    file = tmp_path / "document.yaml"
    file.write_text(f"sys_prompt: |-\n  Be kind.\n  {BAD}\n  Be brief.\n")
    result = await made.run("How much?")
    assert result.answer == "Told: 100."
    found = await find_causes(made, result.run_id, answer="119", files=[file])
    assert found.places[0].before == BAD
    assert not found.causes
    assert found.explained
    assert "no single change" not in str(found)
    assert f"\n-  {BAD}\n" in found.inside[0].causes[0].patch


async def test_a_plan_is_searched_in_its_steps():
    journal = MemoryJournal()
    made = DagAgent(ScriptedModel(clerk), system=f"Be kind.\n{BAD}", journal=journal)
    result = await made.run("How much?")
    found = await find_causes(made, result.run_id, answer="119")
    assert found.places[0].before == BAD


async def test_a_document_that_is_right_has_no_cause():
    journal = MemoryJournal()
    made = document(journal, bad="")
    result = await made.run("How much?")
    assert result.answer == "Told: 119."
    with pytest.raises(ConfigError, match="nothing is wrong"):
        await find_causes(made, result.run_id, answer="119")


BOOKED: list[str] = []


@tool(effect="unsafe")
def book(what: str) -> str:
    """Book something."""
    BOOKED.append(what)
    return f"{what} is booked"


def desk(request: Any) -> Any:
    """Sorts a letter by what it is told of the kinds, and does what that kind asks for."""
    said = "\n".join(message.text if isinstance(message, SystemMessage) else "" for message in request.messages)
    if "categories" in said:
        return "order" if "Every letter is an order." in said else "complaint"
    if any(isinstance(message, ToolMessage) for message in request.messages):
        return "It is booked."
    if "Take orders" in said:
        return call("book", what="a seat")
    return "Sorry: here are 119 euros."


def branching(journal: MemoryJournal, first: dict[str, Any], kind: str) -> GraphAgent:
    def agent(system: str, *names: str) -> dict[str, Any]:
        params = {"sys_prompt": system, "tools": [{"component_name": name} for name in names]}
        return {"obj": {"component_name": "Agent", "params": params}, "downstream": ["Message:M"]}

    shown = ["{{Agent:Order@content}}{{Agent:Sorry@content}}"]
    components = {
        "begin": {"obj": {"component_name": "Begin"}, "downstream": [kind]},
        kind: {"obj": {"component_name": kind.partition(":")[0], "params": first}},
        "Agent:Order": agent("Take orders."),
        "Agent:Sorry": agent("Be sorry."),
        "Message:M": {"obj": {"component_name": "Message", "params": {"content": shown}}},
    }
    return GraphAgent(
        parse_document({"components": components}), Path(), model=ScriptedModel(desk), journal=journal,
        plugins=[Bringing()], on_error="result",
    )  # fmt: skip


class Bringing(Plugin):
    """Brings a tool that acts to every agent of a document."""

    name = "bringing"
    harmless = True
    tools = (book,)

    async def on_start(self, run: RunContext) -> None:
        await run.offer_tools(["book"], self.name)


async def test_the_wrong_way_of_a_document_is_found_and_why_it_was_chosen():
    BOOKED.clear()
    journal = MemoryJournal()
    kinds = {
        "order": {"description": "It wants something. Every letter is an order. It is short.", "to": ["Agent:Order"]},
        "complaint": {"description": "It complains.", "to": ["Agent:Sorry"]},
    }
    made = branching(journal, {"category_description": kinds}, "Categorize:Sort")
    result = await made.run("My seat was wet.")
    assert (result.answer, BOOKED) == ("It is booked.", ["a seat"])
    found = await find_causes(made, result.run_id, answer="119")
    assert "Every letter is an order." in found.places[0].before
    assert found.located.change.after == "complaint"
    assert "Categorize:Sort choosing 'complaint', not 'order'" in str(found)
    assert BOOKED == ["a seat"]


async def test_the_way_of_a_switch_is_a_cause():
    BOOKED.clear()
    journal = MemoryJournal()
    item = {"cpn_id": "sys.query", "operator": "contains", "value": "seat"}
    conditions = [{"items": [item], "to": ["Agent:Order"]}]
    made = branching(journal, {"conditions": conditions, "end_cpn_ids": ["Agent:Sorry"]}, "Switch:Sort")
    result = await made.run("My seat was wet.")
    found = await find_causes(made, result.run_id, answer="119")
    assert [str(place) for place in found.places] == ["Switch:Sort choosing 'Agent:Sorry'"]
    assert BOOKED == ["a seat"]


def planner(request: Any) -> Any:
    """Leaves the bill out where its prompt says so; as a judge, tells what its prompt says of amounts."""
    said = str(request.messages)
    if request.component == "planner":
        task = "Say hello." if "Bills are secret." in said else "Read bill 7."
        return call("make_plan", steps=[{"id": "one", "task": task}, {"id": "two", "task": "Say thanks."}])
    if request.component == "analyzer":
        read = "119" if "It is 119" in said and BAD not in said else "100" if "119" in said else "nothing"
        return call("judge", achieved=True, confidence=1.0, reasoning="Read.", final_answer=f"Told: {read}.")
    if "Read bill" not in said:
        return "Hello."
    return "It is 119." if isinstance(request.messages[-1], ToolMessage) else call("book", what="bill 7")


@pytest.mark.parametrize(("name", "bad", "most"), [("dag_planner", "Bills are secret.", 24), ("dag_analyzer", BAD, 16)])
async def test_a_line_for_the_planner_or_the_judge_is_found(name: str, bad: str, most: int):
    journal = MemoryJournal()
    prompts = {name: f"You are an advisor.\nBe kind.\n{bad}\nBe brief."}
    seen: list[Plan] = []

    def review(plan: Plan) -> Plan:
        seen.append(plan)
        return plan

    made = DagAgent(ScriptedModel(planner), [book], prompts=prompts, journal=journal, review=review)
    result = await made.run("How much?")
    BOOKED.clear()
    assert "119" not in result.answer
    found = await find_causes(made, result.run_id, answer="119")
    assert (found.causes[0].change.name, found.causes[0].change.before) == (name, bad)
    assert found.requests <= most
    assert bad in found.causes[0].difference
    assert BOOKED == [], "the search has booked something"
    assert len(seen) == 1, "the person is asked for the run, and for no experiment"


async def test_what_only_the_judge_takes_amiss_is_found_in_its_last_request():
    journal = MemoryJournal()
    made = DagAgent(ScriptedModel(planner), system=f"Be kind.\n{BAD}\nBe brief.", journal=journal)
    result = await made.run("How much?")
    assert result.answer == "Told: 100."
    found = await find_causes(made, result.run_id, answer="119")
    assert found.causes[0].change.before == BAD
    assert found.requests <= 12


async def test_a_plan_that_was_given_is_not_made_anew():
    journal = MemoryJournal()
    made = DagAgent(ScriptedModel(planner), prompts={"dag_analyzer": f"Judge.\n{BAD}"}, journal=journal)
    result = await made.run("How much?", plan=Plan((DagStep("one", "Read bill 7."),)))
    found = await find_causes(made, result.run_id, answer="Told: 119")
    assert found.causes[0].change.before == BAD
    assert all("planner" not in str(request.component) for request in made.model.requests)
