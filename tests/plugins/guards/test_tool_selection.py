"""ToolSelection: above a number of tools, one call picks those to offer."""

from __future__ import annotations

from typing import Any

from kit import call, go
from plugins.scenes import (
    components,
    structured,
)
from treadle import Agent, ScriptedModel, tool
from treadle._engine.requests.prefix import prefix_breaks
from treadle._types.request import Request


def test_tools_that_are_asked_for_are_appended():
    from treadle._plugins.guards.tool_selection import MORE

    def make(number: int) -> Any:
        @tool(name=f"tool_{number}")
        async def one() -> str:
            """Do one thing."""
            return "done"

        return one

    def reply(request: Request) -> Any:
        if request.component == "selection":
            return structured(request, {"tools": ["tool_3", "tool_1"]})
        return [call(MORE, names=["tool_9"]), call("tool_9"), "done"][sum(c == "loop" for c in components(model)) - 1]

    model = ScriptedModel(reply)
    held: list[Any] = []

    async def main() -> Any:
        held.append(Agent(model, [make(number) for number in range(15)]).start("q"))
        return await held[0]

    result = go(main())
    assert result.answer == "done"
    assert [step.error for step in result.steps] == ["", ""]
    offered = [[offer.name for offer in request.tools] for request in model.requests if request.component == "loop"]
    assert offered[0] == ["tool_3", "tool_1", MORE]
    assert offered[1] == offered[2] == [*offered[0], "tool_9"]
    assert prefix_breaks(model.requests, held[0].records) == []
