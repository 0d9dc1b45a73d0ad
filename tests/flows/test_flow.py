"""Agents that say themselves what comes next: the driver and the ends are those of every run."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, ScriptedModel
from treadle._engine.answering.ends import finish
from treadle._engine.core.execution import Execution
from treadle._flows.flow import FlowAgent, run_child
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError


class Relay(FlowAgent):
    """Asks two agents one after the other."""

    def __init__(self, first: Agent, second: Agent, **options: Any) -> None:
        super().__init__(ScriptedModel([]), None, **options)
        self.both = (first, second)

    async def work(self, run: Execution) -> None:
        text = run.state.question
        for number, agent in enumerate(self.both):
            text = (await run_child(agent, run, f"{run.id}.{number}", text)).result.answer
        await finish(run, text, "answer")

    def partial_answer(self, run: Execution) -> str:
        return "half of it"

    def metadata(self, run: Execution) -> dict[str, Any]:
        return {"relay": len(self.both)}


def agents() -> tuple[Agent, Agent]:
    return (
        Agent(ScriptedModel([call("add", a=1, b=2), "three"]), [add], name="first"),
        Agent(ScriptedModel(lambda request: f"got {request.messages[-1].content}"), [add], name="second"),
    )


async def test_steps_are_runs_inside_it_in_the_same_journal():
    journal = MemoryJournal()
    run = Relay(*agents(), journal=journal).start("q", run_id="r")
    result = await run
    assert (result.answer, result.stop_reason, result.metadata["relay"]) == ("got three", "answer", 2)
    infos = {info.run_id: info for info in await journal.list()}
    assert {name: info.parent for name, info in infos.items()} == {"r": "", "r.0": "r", "r.1": "r"}
    assert all(info.status == "finished" for info in infos.values())


async def test_whoever_watches_it_sees_the_records_of_its_steps():
    relay = Relay(*agents())
    run = relay.prepare("q", run_id="r")
    seen: list[str] = []
    run.subscribe(lambda record: seen.append(record.run))
    await relay.launch(run)
    assert set(seen) == {"r", "r.0", "r.1"}


async def test_a_resumed_flow_takes_up_the_steps_it_has_begun():
    journal = MemoryJournal()
    first, second = agents()
    await Relay(first, second, journal=journal).start("q", run_id="r")
    records = await journal.load("r")
    cut = MemoryJournal()
    await cut.append(records[:1])
    await cut.append(await journal.load("r.0"))
    silent = Agent(ScriptedModel([]), [add], name="first")
    result = await Relay(silent, second, journal=cut).resume("r")
    assert result.answer == "got three"


def test_a_flow_that_does_nothing_has_no_answer_and_no_facts_of_its_own():
    class Idle(FlowAgent):
        async def work(self, run: Execution) -> None:
            raise RuntimeError("not today")

    result = go(Idle(ScriptedModel([]), None, on_error="result").run("q"))
    assert (result.stop_reason, result.success) == ("error", False)


def test_what_comes_next_has_to_be_said():
    with pytest.raises(TypeError, match="work"):
        FlowAgent(ScriptedModel([]), None)  # type: ignore[abstract]


def test_it_is_an_agent_like_any_other():
    assert isinstance(Relay(*agents()), Agent)
    with pytest.raises(ConfigError):
        Relay(*agents(), no_such_setting=1)
    assert Relay(*agents()).as_tool("relay").name == "relay"
