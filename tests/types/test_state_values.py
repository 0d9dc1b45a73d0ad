"""The values a state is made of: what counts up is each state's own, what is in the log cannot be changed."""

from __future__ import annotations

import pytest

from treadle._types.events import StepDone
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.state_values import UNCONSTRAINED, Counters, DagState, Entry, OpenCall, ReplyConstraint, Spent, Step
from treadle._types.usage import NO_USAGE


def test_states_do_not_share_what_they_collect():
    one = DagState()
    one.steps["a"] = StepDone("a", "completed")
    one.verdicts.append(None)  # type: ignore[arg-type]
    assert (DagState().steps, DagState().verdicts) == ({}, [])


def test_an_open_call_is_neither_started_nor_safe_to_repeat_until_a_record_says_so():
    call = OpenCall(ToolCall("c1", "pay"))
    assert (call.started, call.effect, call.done, call.seq) == (False, "unsafe", None, -1)


def test_counting_starts_at_nothing():
    assert all(getattr(Counters(), name) == 0 for name in Counters.__struct_fields__)
    assert (Spent().calls, Spent().usage, Spent().elapsed) == (0, NO_USAGE, 0.0)


@pytest.mark.parametrize(
    "value",
    [Entry(UserMessage("q"), 0, "question"), Step(1, "add", {}, "3", "", 0.0, "c1"), ReplyConstraint(True)],
    ids=["entry", "step", "constraint"],
)
def test_what_is_shown_to_others_cannot_be_changed(value: object):
    for field in type(value).__struct_fields__:  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            setattr(value, field, None)


def test_no_constraint_is_equal_to_one_that_asks_for_nothing():
    assert ReplyConstraint() == UNCONSTRAINED
    assert ReplyConstraint(barred=frozenset({"pay"})) != UNCONSTRAINED
