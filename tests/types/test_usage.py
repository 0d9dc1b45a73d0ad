"""Usage adds up, and so does the work of runs inside a run."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from treadle._types import events as ev
from treadle._types.events import decode_event, encode_event
from treadle._types.state import fold
from treadle._types.usage import MOST_TOKENS, NO_USAGE, Artifact, Spent, Step, Usage, Work

COUNTS = [name for name in Usage.__struct_fields__ if name != "cost"]
counts = st.integers(0, 10**9)
# Whole cents: sums of floats in another order may differ in the last digit, which is not what is tested here.
costs = st.none() | st.integers(0, 10**6).map(float)
usages = st.builds(Usage, cost=costs, **dict.fromkeys(COUNTS, counts))


@given(usages, usages)
def test_every_count_is_summed(one: Usage, other: Usage):
    both = one + other
    for name in COUNTS:
        assert getattr(both, name) == getattr(one, name) + getattr(other, name), name


@given(usages, usages, usages)
def test_order_does_not_matter_and_nothing_changes_nothing(one: Usage, two: Usage, three: Usage):
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + NO_USAGE == NO_USAGE + one == one


def test_an_unknown_price_is_not_a_price_of_zero():
    assert (NO_USAGE + Usage(requests=1)).cost is None
    assert (Usage(cost=0.0) + Usage()).cost == 0.0
    assert (Usage(cost=0.25) + Usage()).cost == (Usage() + Usage(cost=0.25)).cost == 0.25


def test_cached_and_reasoning_tokens_are_part_of_the_total_already():
    used = Usage(input_tokens=100, output_tokens=20, cached_tokens=90, cache_write_tokens=10, reasoning_tokens=15)
    assert used.total_tokens == 120


def test_what_is_zero_is_not_written_out():
    assert msgspec.json.encode(NO_USAGE) == b"{}"
    assert msgspec.json.encode(Usage(requests=1)) == b'{"requests":1}'


# ---- the work of runs inside a run

CALL = Step(1, "search", {"q": "x"}, "found", "", 0.5, "run.a:1", "why", (Artifact("a.md", "text"),))
DONE = ev.StepDone(
    "a", "completed", "r", usage=Usage(10, 5, requests=2), stop_reason="answer",
    work=Work(2, (CALL,), {"tool_calls": 1, "compactions": 3}, {"loop": Spent(2, Usage(10, 5, requests=2), 1.5)}),
)  # fmt: skip


def records(*events: ev.Event) -> list[ev.Record]:
    return [ev.Record("run", seq, 0.0, event) for seq, event in enumerate((ev.RunStarted("q"), *events))]


def test_the_work_of_steps_adds_up_and_is_paid_for_once():
    state = fold(records(DONE, DONE))
    assert (
        state.iteration,
        len(state.steps),
        state.spending.counters.tool_calls,
        state.spending.counters.compactions,
    ) == (4, 2, 2, 6)
    assert state.usage == Usage(20, 10, requests=4)
    assert (
        state.spending.components["loop"].calls,
        state.spending.components["loop"].usage.requests,
        state.spending.components["loop"].elapsed,
    ) == (4, 4, 3.0)
    assert DONE.work is not None
    assert DONE.work.components["loop"].calls == 2, "a record is not changed by the fold"


def test_a_record_without_it_is_as_good_as_before():
    state = fold(records(ev.StepDone("a", "completed", "r", usage=Usage(1, 1))))
    assert (state.iteration, state.steps, state.usage.total_tokens) == (0, [], 2)


def test_it_is_stored_and_read_again():
    assert decode_event(encode_event(DONE)) == DONE


def test_a_count_of_a_later_version_is_left_out():
    strange = ev.StepDone("a", "completed", work=Work(counters={"no_such_count": 1, "failed_calls": 2}))
    assert fold(records(strange)).spending.counters.failed_calls == 2


def test_a_step_names_its_tool_as_events_do():
    assert Step(1, "add", {"a": 1}, "3", "", 0.1, "c1").name == "add"


def test_what_cannot_be_counted_is_bounded():
    strange = Usage(-5, 10**30, requests=-1, cost=float("-inf"))
    assert strange.bounded() == Usage(0, MOST_TOKENS, requests=0, cost=None)
    assert Usage(1, cost=float("nan")).bounded() == Usage(1, cost=None)
    usual = Usage(1, 2, requests=1, cost=0.5)
    assert usual.bounded() is usual
