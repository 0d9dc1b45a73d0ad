"""An agent without tools is asked plainly, whatever its model is: there is nothing to choose from."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, Plugin, RunContext, ScriptedModel
from treadle._tools.base import Tool
from treadle._types.events import DialectDemoted, ToolsChanged
from treadle._types.request import Reply

SMALL: dict[str, Any] = {"tool_call": False, "grammar": True, "json_schema": True, "parameters": 1.5}
KINDS: list[dict[str, Any]] = [{"tool_call": False}, SMALL, SMALL | {"tiny": True}, SMALL | {"adapter": "taught-1"}]


@pytest.mark.parametrize("abilities", KINDS, ids=["text only", "small", "tiny", "with an adapter"])
def test_its_words_are_the_answer(abilities: dict[str, Any]):
    model = ScriptedModel(["The capital is Paris."], abilities=abilities)
    result = go(Agent(model, tools=None, system="Be brief.").run("What is the capital of France?"))
    assert (result.answer, result.usage.requests, result.success) == ("The capital is Paris.", 1, True)
    (request,) = model.requests
    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.messages[0].text == "Be brief."
    assert request.format is None
    assert not request.tuned


def test_words_that_were_cut_off_are_not_asked_for_again():
    model = ScriptedModel([Reply("The capital of", finish="length")], abilities=SMALL)
    result = go(Agent(model, tools=None).run("What is the capital of France?"))
    assert (result.answer, result.usage.requests) == ("The capital of", 1)


def test_a_dialect_that_was_asked_for_is_spoken_without_tools_too():
    model = ScriptedModel(['{"final_answer": "Paris"}'], abilities={"tool_call": False})
    result = go(Agent(model, tools=None, dialect="json").run("What is the capital of France?"))
    assert result.answer == "Paris"
    assert "JSON" in model.requests[0].messages[0].text


class Bringing(Plugin):
    """Tools that are known only when the run has begun, as those of a server are."""

    name = "bringing"

    def __init__(self, *tools: Tool) -> None:
        self.tools = list(tools)

    async def on_start(self, run: RunContext) -> None:
        await run.emit(ToolsChanged(tuple(tool.schema for tool in self.tools)))


def test_tools_that_come_later_are_spoken_of_as_suits_the_model():
    model = ScriptedModel(
        ['{"action": "add", "args": {"a": 1, "b": 2}}', '{"final_answer": "3"}'], abilities={"tool_call": False}
    )
    result, events = watched(Agent(model, tools=None, plugins=[Bringing(add)]))
    assert result.answer == "3"
    assert [step.tool for step in result.steps] == ["add"]
    (demoted,) = [event for event in events if isinstance(event, DialectDemoted)]
    assert (demoted.dialect, demoted.reason) == ("schema", "there are tools now")


def test_a_model_with_native_calls_goes_on_with_them():
    model = ScriptedModel([call("add", a=1, b=2), "3"])
    result, events = watched(Agent(model, tools=None, plugins=[Bringing(add)]))
    assert result.answer == "3"
    assert not [event for event in events if isinstance(event, DialectDemoted)]


def watched(agent: Agent[Any, Any]) -> tuple[Any, list[Any]]:
    async def main() -> tuple[Any, list[Any]]:
        run = agent.start("What is 1 + 2?")
        return await run, [record.event for record in run.records]

    return go(main())
