"""ToolSelection: above a number of tools, one call picks those to offer; the model can ask for more."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call
from plugins.aids import run_of
from plugins.scenes import components, request_text, restarted, structured
from treadle import Agent, RetryPolicy, ScriptedModel, tool
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.guards.tool_selection import MORE, catalogue_line
from treadle._types.errors import TransientModelError
from treadle._types.request import Request, ToolSchema


def make(number: int, **options: Any) -> Any:
    @tool(name=f"tool_{number}", **options)
    async def one() -> str:
        """Do one thing."""
        return "done"

    return one


TOOLS = [make(number) for number in range(15)]


def chooser(picked: Any, *replies: Any) -> ScriptedModel:
    """A model that picks these tools, then gives the replies in turn."""
    rest = list(replies)

    def reply(request: Request) -> Any:
        if request.component != "selection":
            return rest.pop(0)
        return picked if isinstance(picked, str | BaseException) else structured(request, {"tools": picked})

    return ScriptedModel(reply)


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests if request.component == "loop"]


def run(model: ScriptedModel, tools: Any = TOOLS, **options: Any) -> tuple[Any, Any]:
    return run_of(Agent(model, tools, retry=RetryPolicy(attempts=1), **options), "Which thing?")


def test_tools_that_are_asked_for_are_appended():
    model = chooser(["tool_3", "tool_1"], call(MORE, names=["tool_9", "nope"]), call("tool_9"), "done")
    result, handle = run(model)
    assert result.answer == "done"
    assert [step.error for step in result.steps] == ["", ""]
    assert offered(model) == [["tool_3", "tool_1", MORE], *[["tool_3", "tool_1", MORE, "tool_9"]] * 2]
    assert prefix_breaks(model.requests, handle.records) == []


def test_up_to_the_threshold_nothing_is_picked():
    model = chooser(["tool_3"], "done")
    run(model, TOOLS[:12])
    assert components(model) == ["loop"]
    model = chooser(["tool_3"], "done")
    run(model, selection_threshold=None)
    assert (components(model), len(offered(model)[0])) == (["loop"], 15)


def test_names_that_do_not_exist_and_repetitions_go_and_no_more_than_the_limit_stay():
    model = chooser(["nope", "tool_2", "tool_2", *(f"tool_{number}" for number in range(5, 15))], "done")
    run(model, selection_max=3)
    assert offered(model) == [["tool_2", "tool_5", "tool_6", MORE]]
    assert "at most 3" in request_text(model.requests[0])
    assert "Which thing?" in request_text(model.requests[0])


@pytest.mark.parametrize("picked", [TransientModelError("down", status=503), "no idea", ["nope"], []], ids=str)
def test_when_the_selection_fails_every_tool_is_offered(picked: Any):
    model = chooser(picked, "done")
    result, _ = run(model)
    assert result.answer == "done"
    assert [len(tools) for tools in offered(model)] == [15]


def test_pinned_tools_stay_and_those_not_picked_cannot_be_executed():
    pinned = make(99, pinned=True)
    model = chooser(["tool_3"], call("tool_4"), "done")
    result, _ = run(model, [*TOOLS, pinned])
    assert offered(model)[0] == ["tool_3", "tool_99", MORE]
    assert result.steps[0].error == "unknown_tool"


def test_asking_for_nothing_lists_what_there_is():
    model = chooser(["tool_3"], call(MORE, names=[]), "done")
    result, _ = run(model)
    listed = result.steps[0].observation
    assert "- tool_4: Do one thing." in listed
    assert "tool_3" not in listed
    assert offered(model)[0] == offered(model)[1]


def test_the_words_can_be_replaced():
    model = chooser(["tool_3"], "done")
    run(model, prompts={"select_tools": "MY WORDS"})
    assert model.requests[0].messages[0].text == "MY WORDS"


async def test_a_resumed_run_selects_once():
    model = chooser(["tool_3"], call("tool_3"), "done")
    handle = Agent(model, TOOLS).start("q")
    await handle
    seqs = [r.seq for r in handle.records if type(r.event).__name__ in ("ToolsChanged", "ThinkDone")]
    for records in (seq + 1 for seq in seqs[1:]):
        again = chooser(["tool_4"], "done", "done")
        await (await restarted(Agent(again, TOOLS), handle, records))
        assert "selection" not in components(again)


def test_a_line_of_the_catalogue_is_short():
    assert catalogue_line(ToolSchema("a", "First line.\nSecond line.", {})) == "- a: First line."
    assert catalogue_line(ToolSchema("a", "", {})) == "- a: "
    assert len(catalogue_line(ToolSchema("a", "word " * 50, {}))) == 80
