"""An agent as a tool: its run nests in the supervisor's."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, ScriptedModel
from treadle._agent.agent_tool import MAX_DEPTH, agent_tool
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev

ORDER = {"user_prompt": "add them", "reasoning": "you can add", "context": "1 and 2"}


def worker(*script: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(script or ["three"]), [add], **{"name": "adder", **options})


def boss(tool: Any, *calls: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel([*(calls or (call("adder", **ORDER),)), "done"]), [tool], **options)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("", "adder"), ("math --> sums --> adder", "adder"), ("add them up!", "add_them_up_"), ("x" * 80, "x" * 64)],
)
def test_its_name_is_one_a_model_can_call(name: str, shown: str):
    assert agent_tool(worker(), name=name).name == shown


def test_its_description_is_given_or_the_agents_or_says_what_it_is():
    assert agent_tool(worker(), description="Adds.").description == "Adds."
    assert agent_tool(worker(description="An adder.")).description == "An adder."
    assert "adder" in agent_tool(worker()).description


def test_an_order_that_is_configured_need_not_be_given():
    plain, configured = agent_tool(worker()), agent_tool(worker(), user_prompt="Add what you get.")
    assert "user_prompt" in plain.parameters["required"]
    assert "user_prompt" not in configured.parameters["required"]
    result = go(boss(configured, call("adder", reasoning="r", context="1 and 2")).run("q"))
    assert result.steps[0].error == ""


def test_the_agent_sees_order_reason_and_background_and_nothing_else():
    agent = worker()
    result = go(boss(agent.as_tool()).run("the supervisor's own question"))
    assert result.steps[0].observation == "three"
    (request,) = agent.model.requests  # type: ignore[attr-defined]
    assert request.messages[-1].content == "add them\n\nWhy: you can add\n\nBackground: 1 and 2"
    assert "the supervisor's" not in str(request)


def test_its_failure_is_a_failed_call():
    result = go(boss(worker(ValueError("broken")).as_tool()).run("q"))
    assert result.steps[0].error != ""
    assert result.answer == "done"


async def test_a_call_that_is_made_again_takes_up_the_same_run():
    journal = MemoryJournal()
    asked = worker()
    await boss(asked.as_tool(), journal=journal).start("q", run_id="r")
    records = await journal.load("r")
    begun = next(n for n, record in enumerate(records) if isinstance(record.event, ev.ToolStarted))
    child = next(info.run_id for info in await journal.list() if info.parent == "r")
    cut = MemoryJournal()
    await cut.append(records[: begun + 1])
    await cut.append(await journal.load(child))
    silent = worker(name="adder")
    silent.models = (ScriptedModel([]),)
    result = await Agent(ScriptedModel(["done"]), [silent.as_tool()], journal=cut).resume("r")
    assert result.steps[0].observation == "three"


async def test_agents_within_agents_end_somewhere():
    def script(request: Any) -> Any:
        return call("self_", **ORDER) if len(request.messages) == 1 else "end"

    agent = Agent(ScriptedModel(script), None, name="self_")
    agent.update_toolkit([agent])
    run = agent.prepare("q")
    depths: list[int] = []
    run.subscribe(lambda r: depths.append(r.event.depth) if isinstance(r.event, ev.RunStarted) else None)
    await agent.launch(run)
    assert max(depths) == MAX_DEPTH


async def test_a_person_who_has_to_decide_inside_is_asked_outside_and_the_answer_finds_its_way():
    careful = Agent(ScriptedModel([call("add", a=1, b=2), "three"]), [add.replace(approval="ask")], name="adder")
    agent = boss(careful.as_tool())
    run = agent.start("q")
    result = await run
    assert result.stop_reason == "paused"
    paused = run.state.paused
    (waiting,) = paused.calls
    assert (waiting.name, waiting.id.startswith(f"{run.id}.")) == ("add", True)
    result = await agent.resume(run, approve={waiting.id: True})
    assert (result.answer, result.steps[0].observation) == ("done", "three")
