"""A tool called by a person: the agent's own gate, no model, a run of its own."""

from __future__ import annotations

import pytest

from kit import add
from treadle import Agent, ConfigError, Plugin, ScriptedModel, tool
from treadle._flows.tool_trial import ToolTrial, question_of, read_question
from treadle._journal.memory import MemoryJournal


def trial(*tools: object, **options: object) -> tuple[ToolTrial, MemoryJournal, ScriptedModel]:
    journal, model = MemoryJournal(), ScriptedModel([])
    return ToolTrial(Agent(model, tools=list(tools), journal=journal, name="demo", **options)), journal, model  # pyright: ignore


async def test_a_call_is_a_run_without_the_model():
    agent, journal, model = trial(add, answer="synthesize")
    result = await agent.run(question_of("add", {"a": 2, "b": 3}))
    assert (result.answer, result.stop_reason, result.success, model.requests) == ("5", "final_tool", True, [])
    assert (await journal.info(result.run_id)).agent == "demo (tool by hand)"
    wrong = await agent.run(question_of("add", {"a": "x"}))
    assert not wrong.success
    unknown = await agent.run(question_of("nothing", {}))
    assert not unknown.success


async def test_approval_is_asked_for_and_the_run_goes_on_after_it():
    made: list[str] = []

    @tool(approval="ask")
    async def mail(to: str) -> str:
        """Send."""
        made.append(to)
        return "sent"

    agent, _, _ = trial(mail)
    paused = await agent.run(question_of("mail", {"to": "ann"}))
    assert (paused.stop_reason, made) == ("paused", [])
    (waiting,) = paused.pending
    assert (waiting.tool, waiting.args) == ("mail", {"to": "ann"})
    refused = await agent.run(question_of("mail", {"to": "bob"}))
    refused = await agent.resume(refused.run_id, approve=False)
    assert (refused.success, made) == (False, [])
    allowed = await agent.resume(paused.run_id, approve=True)
    assert (allowed.success, allowed.answer, made) == (True, "sent", ["ann"])


async def test_plug_ins_of_the_agent_may_refuse():
    class Never(Plugin):
        async def before_tool(self, run: object, call: object) -> object:
            raise RuntimeError("no")

    agent, _, _ = trial(add, plugins=[Never()])
    assert not (await agent.run(question_of("add", {"a": 2, "b": 3}))).success


@pytest.mark.parametrize("text", ["", "add", "add(", "add([1])", "add(x)"])
def test_another_question_is_refused(text: str):
    with pytest.raises(ConfigError, match="names no call"):
        read_question(text)


def test_a_question_is_read_as_it_was_written():
    args = {"a": ")(", "b": [1, {"c": None}]}
    assert read_question(question_of("x", args)) == ("x", args)
