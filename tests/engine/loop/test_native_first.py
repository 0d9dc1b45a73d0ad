"""Native calls first: they are taken in every dialect, a model that writes them as text is constrained where it can be,
and prose without tools is an answer."""

from __future__ import annotations

import msgspec
import pytest

from engine.executions import execution, recorded
from kit import add, call
from treadle import Agent, ScriptedModel
from treadle._engine.loop.driver import Loop, drive
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, UserMessage, text_of

TEXT_ONLY = {"tool_call": False, "json_schema": False}


@pytest.mark.parametrize("dialect", ["json", "schema", "direct", "brief", "action", "array"])
async def test_native_calls_that_arrive_are_taken_whatever_the_dialect(dialect: str):
    model = ScriptedModel([call("add", a=2, b=3), call("add", a=5, b=1), "6"], abilities=TEXT_ONLY)
    run = execution(model, [add], dialect=dialect)
    await drive(run, Loop())
    assert [(step.tool, step.observation) for step in run.state.steps] == [("add", "5"), ("add", "6")]
    # The model is shown its calls in the dialect it is spoken to in, and their results.
    *_, written, result = model.requests[1].messages
    assert isinstance(written, AssistantMessage)
    assert (written.calls, "add" in written.text) == ((), True)
    assert isinstance(result, UserMessage)
    assert "5" in text_of(result.content)
    assert recorded(run, ev.DialectDemoted) == []


async def test_a_model_that_writes_its_calls_as_text_is_constrained_where_that_is_possible():
    written = '{"name": "add", "arguments": {"a": 2, "b": 3}}'
    answer = '{"action": "final_answer", "final_answer": "5", "task_successful": true}'
    free = ScriptedModel([written, "5"])
    run = execution(free, [add])
    await drive(run, Loop())
    assert recorded(run, ev.DialectDemoted) == []
    held = ScriptedModel([written, answer], abilities={"strict_schema": True, "parameters": 3.0})
    run = execution(held, [add])
    await drive(run, Loop())
    (demoted,) = recorded(run, ev.DialectDemoted)
    assert (demoted.previous, demoted.dialect, demoted.reason) == (
        "native",
        "direct",
        "the model writes its calls as text",
    )
    assert [step.observation for step in run.state.steps] == ["5"]
    assert held.requests[1].format is not None
    named = ScriptedModel([written, "5"], abilities={"strict_schema": True})
    run = execution(named, [add], dialect="native")
    await drive(run, Loop())
    assert recorded(run, ev.DialectDemoted) == []


@pytest.mark.parametrize("dialect", ["json", "schema", "direct", "brief", "action", "array"])
async def test_without_tools_plain_prose_is_the_answer_and_costs_no_repair(dialect: str):
    model = ScriptedModel(["Canberra is the capital.\n\nIt is not Sydney."], abilities=TEXT_ONLY)
    run = execution(model, [], dialect=dialect)
    result = await drive(run, Loop())
    assert (result.answer, result.success) == ("Canberra is the capital.\n\nIt is not Sydney.", True)
    assert len(model.requests) == 1


class Order(msgspec.Struct):
    name: str
    arguments: dict[str, int]


def test_a_call_of_a_tool_that_is_not_there_is_no_answer_unless_such_data_are_wanted():
    """A model behind an endpoint that reads no calls wrote them as text, and the user was given them."""
    written = '```json\n{"name": "film_titles", "arguments": {"year": 1999}}\n```'
    result = Agent(ScriptedModel([written, "I cannot tell."]), [add], dialect="native").run_sync("Films of 1999?")
    assert result.answer == "I cannot tell."
    assert [(step.tool, step.error) for step in result.steps] == [("film_titles", "unknown_tool")]
    typed = Agent(ScriptedModel([written]), [add], dialect="native", output_type=Order).run_sync("As data, please.")
    assert typed.output == Order("film_titles", {"year": 1999})
