"""Default values, repetitions and time-outs are settings of a tool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kit import call
from treadle import Agent, BaseTool, ScriptedModel, ToolParam, ToolSpec, tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError
from virtual_time import go_virtual


def observed(made: Any, **args: Any) -> tuple[str, float, ScriptedModel]:
    model = ScriptedModel([call("look", **args), "done"])
    result, seconds = go_virtual(Agent(model, [made], error_detail="message").run("q"))
    return result.steps[0].observation, seconds, model


def test_the_model_may_leave_out_what_has_a_default():
    @tool(name="look", defaults={"unit": "C"})
    async def look(city: str, unit: str) -> str:
        """Look."""
        return f"{city} in {unit}"

    text, _, model = observed(look, city="Rome")
    assert text == "Rome in C"
    assert model.requests[0].tools[0].parameters["required"] == ["city"]
    assert observed(look, city="Rome", unit="F")[0] == "Rome in F"
    with pytest.raises(ConfigError, match="a default for the unknown parameter 'units'; it has: city, unit"):
        Toolkit([look.replace(defaults={"units": "C"})])


def test_a_call_that_fails_is_repeated_as_often_as_its_tool_says():
    tries: list[int] = []

    @tool(name="look", effect="pure", retries=2, retry_wait=1.0, timeout=5.0)
    async def look(after: int) -> str:
        """Look."""
        tries.append(after)
        if len(tries) == 1:
            await asyncio.sleep(60)
        if len(tries) <= after:
            raise ConnectionError("gone")
        return "seen"

    text, seconds, model = observed(look, after=2)
    assert (text, len(tries), len(model.requests)) == ("seen", 3, 2)
    assert seconds == pytest.approx(5.0 + 1.0 + 2.0, abs=0.01)
    tries[:] = [0]
    assert "gone" in observed(look, after=9)[0]
    assert len(tries) == 4
    for changes in ({"effect": "unsafe"}, {"retries": -1}, {"retry_wait": -1.0}):
        with pytest.raises(ConfigError, match="tool 'look': retr"):
            Toolkit([look.replace(**changes)])


def test_tools_that_are_classes_have_them_too():
    class Look(BaseTool):
        spec = ToolSpec("look", "Look.", inputs=[ToolParam("city"), ToolParam("unit")])
        effect = "pure"
        defaults = {"unit": "C"}
        retries = 1
        retry_wait = 0.0
        tries = 0

        async def __call__(self, city: str, unit: str) -> str:
            self.tries += 1
            if self.tries == 1:
                raise ConnectionError
            return f"{city} in {unit}"

    assert observed(Look(), city="Rome")[0] == "Rome in C"
