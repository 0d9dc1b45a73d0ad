"""ToolSearch: the tools nearest in meaning are offered, and more are found by what they do."""

from __future__ import annotations

from collections.abc import Sequence

from kit import call
from plugins.guards.test_tool_selection import chooser, make, offered, run
from treadle import ScriptedModel
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.guards.tool_search import FIND, ToolSearch
from treadle._types.errors import ToolError

TOOLS = [make(number).replace(description="Something else.") for number in range(14)]
TOOLS[4] = TOOLS[4].replace(name="call_off_flight", description="Call off a flight.")
TOOLS[9] = TOOLS[9].replace(name="send_bill", description="Send a bill.")
MEANINGS = {"thing": 0, "flight": 1, "journey": 1, "bill": 2, "invoice": 2}
"""Words that mean the same have the same place in a vector."""


def by_table(texts: list[str]) -> Sequence[Sequence[float]]:
    return [
        [float(any(MEANINGS[word] == i for word in MEANINGS if word in text.lower())) for i in range(3)]
        for text in texts
    ]


def test_the_nearest_are_offered_and_more_are_found():
    model = ScriptedModel([call(FIND, query="make an invoice"), call("send_bill"), "done"])
    result, handle = run(model, TOOLS, plugins=[ToolSearch(by_table)], selection_max=2)
    assert [step.error for step in result.steps] == ["", ""]
    first, second, third = offered(model)
    assert len(first) == 3
    assert first[-1] == FIND
    assert second[: len(first)] == first, "what was offered before stays where it was"
    assert "send_bill" in second
    assert third == second
    assert "- send_bill: Send a bill." in result.steps[0].observation
    assert not prefix_breaks(model.requests, handle.records)
    assert result.usage.requests == 3, "nothing was asked of the model for the selection"


def test_the_question_decides():
    model = ScriptedModel(["done"])
    agent_tools = [*TOOLS]
    search = ToolSearch(lambda texts: by_table([text.replace("Which thing?", "a journey") for text in texts]))
    run(model, agent_tools, plugins=[search], selection_max=1)
    assert offered(model) == [["call_off_flight", FIND]]


def test_without_an_embedder_that_works_the_model_selects():
    def broken(texts: list[str]) -> Sequence[Sequence[float]]:
        raise ToolError("no vectors today")

    model = chooser(["send_bill"], call(FIND, query="x"), "done")
    result, _ = run(model, TOOLS, plugins=[ToolSearch(broken)])
    assert offered(model)[0] == ["send_bill", FIND]
    assert "no vectors today" in result.steps[0].observation


def test_few_tools_are_all_offered():
    model = ScriptedModel([call("send_bill"), "done"])
    run(model, TOOLS[8:11], plugins=[ToolSearch(by_table)])
    assert [len(names) for names in offered(model)] == [3, 3]


def test_when_everything_is_offered_nothing_is_found():
    model = ScriptedModel([call(FIND, query="invoice"), call(FIND, query="invoice"), "done"])
    result, _ = run(model, TOOLS, plugins=[ToolSearch(by_table)], selection_max=13)
    assert "can be called from now on" in result.steps[0].observation
    assert result.steps[1].observation.startswith("There are no further tools.")
