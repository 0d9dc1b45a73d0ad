"""`code_exec`: code in a sandbox as a tool."""

from __future__ import annotations

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel
from treadle._tools.builtin import builtin
from treadle._types.errors import ConfigError


def test_code_exec_as_a_built_in():
    pytest.importorskip("pydantic_monty")
    model = ScriptedModel(
        [call("code_exec", code="print(6 * 7)"), call("code_exec", code="import os", language="python"), "done"]
    )
    result = go(Agent(model, [builtin("code_exec")]).run("q"))
    assert result.steps[0].observation == "42"
    assert "not allowed here" in result.steps[1].observation
    assert result.answer == "done"
    with pytest.raises(ConfigError, match="languages must be python"):
        builtin("code_exec", languages=["ruby"])
