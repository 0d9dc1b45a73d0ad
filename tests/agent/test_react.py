"""`react_loop`: the strict preset as one function."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, echo, go
from treadle import Budget, MaxIterationsError, RetryPolicy, ScriptedModel, Usage, react_loop
from treadle._types.errors import BudgetExhaustedError, ConfigError, ModelError, TransientModelError
from treadle._types.messages import UserMessage
from treadle._types.profile import Prices, Profile

PRICED = Profile(tool_call=True, prices=Prices(1.0, 10.0))


def endless() -> ScriptedModel:
    return ScriptedModel([call("echo", text="x")], repeat_last=True, profile=PRICED)


def test_value_cost_and_the_whole_result():
    model = ScriptedModel([call("add", a=1, b=2), "3"])
    looped = go(react_loop(model, "1 + 2?", [add]))
    assert (looped.value, looped.cost.requests, looped.metadata["rounds"]) == ("3", 2, 2)
    assert looped.success
    assert (looped.result.answer, looped.cost) == (looped.value, looped.result.usage)


@pytest.mark.parametrize("tools", [[], (), None])
def test_without_tools_the_model_answers(tools: Any):
    assert go(react_loop(ScriptedModel(["Hello."]), "Hi", tools)).value == "Hello."


def test_its_defaults_and_what_is_given_reach_the_model():
    model = ScriptedModel(["3", "3"])
    go(react_loop(model, "q", [add]))
    go(react_loop(model, [{"type": "text", "text": "q"}], [add], temperature=None, max_tokens=7))
    assert [(r.temperature, r.max_tokens) for r in model.requests] == [(0.3, 4096), (None, 7)]


def test_a_model_without_native_calls_is_refused_before_anything_is_sent():
    model = ScriptedModel(["x"], abilities={"tool_call": False}, name="small")
    with pytest.raises(TypeError, match="small does not"):
        go(react_loop(model, "q", [add]))
    assert model.requests == []


def test_rounds_are_bounded():
    with pytest.raises(MaxIterationsError, match=r"no answer after 2 rounds \(max_rounds=2\)"):
        go(react_loop(endless(), "q", [echo], max_rounds=2))


def test_errors_speak_of_what_was_passed():
    with pytest.raises(ConfigError, match="max_rounds") as refused:
        go(react_loop(endless(), "q", [echo], max_rounds=0))
    assert "iteration" not in str(refused.value)


@pytest.mark.parametrize(
    "bound",
    [
        Usage(requests=2), Usage(tool_calls=1), Usage(input_tokens=25), Usage(output_tokens=30), Usage(cost=0.0003),
        Budget(requests=2), Budget(tokens=150),
    ],
    ids=str,
)  # fmt: skip
def test_a_cost_is_a_bound_in_each_of_its_counts(bound: Any):
    with pytest.raises(BudgetExhaustedError):
        go(react_loop(endless(), "q", [echo], max_cost=bound))


def test_a_cost_of_nothing_bounds_nothing():
    assert go(react_loop(ScriptedModel(["3"]), "q", [add], max_cost=Usage())).value == "3"


def test_the_models_own_error_is_raised():
    with pytest.raises(ModelError, match="no such model"):
        go(react_loop(ScriptedModel([ModelError("no such model")]), "q", [add]))


def test_attempts_are_a_setting():
    model = ScriptedModel([TransientModelError("busy")], repeat_last=True)
    with pytest.raises(TransientModelError):
        go(react_loop(model, "q", [add], retry=RetryPolicy(attempts=4, base=0.0)))
    assert len(model.requests) == 4


def test_observations_are_cut_and_old_rounds_leave():
    model = ScriptedModel([call("echo", text="y" * 500) for _ in range(6)] + ["done"])
    looped = go(react_loop(model, "THE PROMPT", [echo], max_observation_chars=100, max_history_messages=5))
    assert all(len(step.observation) == 100 for step in looped.result.steps)
    assert looped.metadata["messages_trimmed"] >= 1
    for request in model.requests:
        assert UserMessage("THE PROMPT", pinned=True) in request.messages
