"""Rules of the loop that a setting or a tool changes."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, ConfigError, NotAModelError, ScriptedModel, WrongValueError, tool
from treadle._flows.dag.plan import SCHEMA, Plan
from treadle._tools.validation import checker
from treadle._types.request import RawCall, Reply


@pytest.mark.parametrize(("polling", "reason"), [(True, "answer"), (False, "stuck")])
def test_a_tool_that_polls_may_be_asked_again(polling: bool, reason: str):
    @tool(effect="pure", polling=polling)
    async def job() -> str:
        """Return the state of the job."""
        return "not finished yet"

    result = go(Agent(ScriptedModel([call("job")] * 8 + ["done"], repeat_last=True), [job]).run("q"))
    assert result.stop_reason == reason


def test_calls_over_the_cap_of_one_reply_are_answered_with_an_error():
    calls = [call("add", a=1, b=n) for n in range(70)]
    result = go(Agent(ScriptedModel([calls, "done"]), [add]).run("q"))
    assert [step.error for step in result.steps] == [""] * 64 + ["rejected"] * 6
    assert "at most 64 calls" in result.steps[-1].observation
    few = go(Agent(ScriptedModel([calls[:3], "done"]), [add], max_calls=2).run("q"))
    assert [step.error for step in few.steps] == ["", "", "rejected"]


@pytest.mark.parametrize(("setting", "error"), [("pure", "invalid_args"), ("all", "")])
def test_an_agent_can_let_every_tool_run_with_repaired_arguments(setting: Any, error: str):
    @tool
    async def note(text: str) -> str:
        """Note it."""
        return text

    broken = Reply("", (RawCall("c1", "note", '{"text": /srv/old/}'),))
    result = go(Agent(ScriptedModel([broken, "done"]), [note], repaired_args=setting).run("q"))
    assert result.steps[0].error == error


def test_a_plan_with_nulls_and_numbers_is_read():
    steps = [
        {"id": 1, "task": "look", "dependencies": None, "tool_hint": None, "model_hint": None},
        {"id": 2, "task": "write", "dependencies": [1]},
    ]
    assert not checker(SCHEMA).validate({"steps": steps})
    plan = Plan.parse({"steps": steps})
    assert [(step.id, step.dependencies) for step in plan.steps] == [("1", ()), ("2", ("1",))]


def test_wrong_objects_and_values_are_pythons_own_errors_too():
    with pytest.raises(TypeError) as wrong:
        Agent(object(), None)  # type: ignore[call-overload]
    assert isinstance(wrong.value, NotAModelError)
    for bad in ({"max_iterations": 0}, {"temperature": "hot"}):
        with pytest.raises(ValueError) as value:
            Agent(ScriptedModel([]), None, **bad)  # type: ignore[arg-type]
        assert isinstance(value.value, WrongValueError)
        assert isinstance(value.value, ConfigError)
