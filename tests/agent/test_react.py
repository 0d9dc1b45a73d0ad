"""`react_loop`: the strict preset as one function."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, echo, go
from treadle import Budget, MaxIterationsError, RetryPolicy, ScriptedModel, Usage, react_loop
from treadle._types.errors import BudgetExhaustedError, ConfigError, ModelError, TransientModelError
from treadle._types.profile import Prices, Profile

PRICED = Profile(tool_call=True, prices=Prices(1.0, 10.0))


def endless() -> ScriptedModel:
    return ScriptedModel([call("echo", text="x")], repeat_last=True, profile=PRICED)


def test_its_defaults_and_what_is_given_reach_the_model():
    model = ScriptedModel(["3", "3"])
    go(react_loop(model, "q", [add]))
    go(react_loop(model, [{"type": "text", "text": "q"}], [add], temperature=None, max_tokens=7))
    assert [(r.temperature, r.max_tokens) for r in model.requests] == [(0.3, 4096), (None, 7)]


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
