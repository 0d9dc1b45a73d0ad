"""Budgets: reserved before they are spent, shared with everything a run starts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle._engine.core.budget import BudgetTracker, price
from treadle._engine.settings import Budget
from treadle._types.errors import BudgetExhaustedError, ConfigError
from treadle._types.profile import Prices, Profile
from treadle._types.usage import NO_USAGE, Usage

PRICED = Profile(prices=Prices(input=1.0, output=10.0, cached=0.1, cache_write=2.0))


def test_a_price_by_what_was_read_cached_written_and_answered():
    used = Usage(1_000_000, 100_000, cached_tokens=500_000, cache_write_tokens=100_000)
    assert price(used, PRICED) == pytest.approx(0.4 * 1 + 0.5 * 0.1 + 0.1 * 2 + 0.1 * 10)


def test_without_prices_for_the_cache_it_costs_what_all_input_costs():
    profile = Profile(prices=Prices(input=1.0, output=10.0))
    used = Usage(1_000_000, cached_tokens=500_000, cache_write_tokens=100_000)
    assert price(used, profile) == pytest.approx(1.0)


def test_a_price_of_zero_is_a_price_and_an_unknown_one_is_none():
    free = Profile(prices=Prices(0.0, 0.0, cached=0.0))
    assert price(Usage(5, 5), free) == 0.0
    assert price(Usage(5, 5), Profile()) is None


WORST = Usage(100, 50, requests=2, cost=0.5)


@pytest.mark.parametrize(
    "budget",
    [
        Budget(tokens=149), Budget(input_tokens=99), Budget(output_tokens=49), Budget(requests=1), Budget(cost=0.4),
        Budget(seconds=1e-9),
    ],
    ids=["tokens", "input", "output", "requests", "cost", "seconds"],
)  # fmt: skip
def test_what_does_not_fit_is_not_begun(budget: Budget):
    tracker = BudgetTracker(budget)
    with pytest.raises(BudgetExhaustedError, match="budget of"):
        tracker.reserve(WORST)
    assert tracker.reserved == NO_USAGE


@pytest.mark.parametrize(
    "budget",
    [
        Budget(tokens=150),
        Budget(input_tokens=100),
        Budget(output_tokens=50),
        Budget(requests=2),
        Budget(cost=0.5),
        Budget(),
    ],
)
def test_what_just_fits_is(budget: Budget):
    BudgetTracker(budget).reserve(WORST)


def test_what_is_reserved_is_taken_and_given_back_when_settled():
    tracker = BudgetTracker(Budget(requests=2))
    one, two = tracker.reserve(Usage(requests=1)), tracker.reserve(Usage(requests=1))
    with pytest.raises(BudgetExhaustedError):
        tracker.reserve(Usage(requests=1))
    one.settle(NO_USAGE)
    tracker.reserve(Usage(requests=1))
    two.settle(Usage(requests=1))
    assert tracker.spent == Usage(requests=1)
    with pytest.raises(BudgetExhaustedError):
        tracker.reserve(Usage(requests=1))


def test_settling_twice_gives_nothing_back_twice():
    tracker = BudgetTracker(Budget(requests=2))
    reservation = tracker.reserve(Usage(requests=1))
    reservation.settle(NO_USAGE)
    reservation.settle(NO_USAGE)
    assert tracker.reserved.requests == 0


def test_what_is_held_for_an_answer_must_still_fit_and_is_not_reserved():
    tracker = BudgetTracker(Budget(requests=2))
    tracker.held = Usage(requests=1)
    tracker.reserve(Usage(requests=1))
    assert tracker.reserved.requests == 1
    with pytest.raises(BudgetExhaustedError):
        tracker.reserve(Usage(requests=1))
    tracker.held = NO_USAGE
    tracker.reserve(Usage(requests=1))


def test_children_cannot_touch_what_their_parent_holds_for_its_answer():
    parent = BudgetTracker(Budget(tokens=1_000))
    parent.held = Usage(300, 200)
    child = BudgetTracker(parent=parent)
    child.held = Usage(100)
    child.reserve(Usage(300, 100))
    with pytest.raises(BudgetExhaustedError, match="budget of 1000 tokens"):
        child.reserve(Usage(1))
    child.held = NO_USAGE  # its own answer may have what it held for it
    child.reserve(Usage(0, 100))
    with pytest.raises(BudgetExhaustedError):
        child.reserve(Usage(1))


@pytest.mark.parametrize(
    ("budget", "room"),
    [
        (Budget(), None),
        (Budget(requests=1), None),
        (Budget(tokens=400), 250),
        (Budget(output_tokens=70), 70),
        (Budget(cost=0.001), 85),
        (Budget(tokens=100), 0),
    ],
)
def test_the_room_for_a_reply_is_what_the_tightest_limit_leaves(budget: Budget, room: int | None):
    request = Usage(150, requests=1, cost=0.00015)
    assert BudgetTracker(budget).room(request, PRICED) == room
    assert BudgetTracker(parent=BudgetTracker(budget)).room(request, PRICED) == room
    if room:
        BudgetTracker(budget).reserve(Usage(150, room, requests=1, cost=(150 + room * 10) / 1e6))


def test_children_together_never_overshoot_their_parent():
    parent = BudgetTracker(Budget(requests=3))
    one, two = BudgetTracker(parent=parent), BudgetTracker(Budget(requests=2), parent=parent)
    one.reserve(Usage(requests=1))
    held = two.reserve(Usage(requests=2))
    with pytest.raises(BudgetExhaustedError, match="budget of 3 requests"):
        one.reserve(Usage(requests=1))
    held.settle(Usage(requests=1))
    assert (two.spent.requests, parent.spent.requests, parent.reserved.requests) == (1, 1, 1)
    one.reserve(Usage(requests=1))


def test_a_childs_own_budget_is_named_when_it_is_the_smaller_one():
    child = BudgetTracker(Budget(tool_calls=1), parent=BudgetTracker(Budget(tool_calls=9)))
    with pytest.raises(BudgetExhaustedError, match="budget of 1 tool_calls"):
        child.reserve(Usage(tool_calls=2))


def test_a_resumed_run_has_spent_what_its_log_says():
    tracker = BudgetTracker(Budget(requests=2), spent=Usage(requests=2))
    with pytest.raises(BudgetExhaustedError) as caught:
        tracker.reserve(Usage(requests=1))
    assert caught.value.cost == Usage(requests=2)


def test_bounded_is_who_has_a_budget_above_or_of_its_own():
    free = BudgetTracker()
    assert not free.bounded
    assert not BudgetTracker(parent=free).bounded
    assert BudgetTracker(Budget()).bounded
    assert BudgetTracker(parent=BudgetTracker(Budget())).bounded


def test_the_time_that_is_left_is_the_shorter_of_both(monkeypatch: pytest.MonkeyPatch):
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    parent = BudgetTracker(Budget(seconds=10))
    child = BudgetTracker(Budget(seconds=60), parent=parent)
    assert BudgetTracker().seconds_left() is None
    assert BudgetTracker(parent=parent).seconds_left() == child.seconds_left() == 10
    now += 4
    assert child.seconds_left() == 6
    assert BudgetTracker(Budget(seconds=2), parent=parent).seconds_left() == 2
    now += 6
    with pytest.raises(BudgetExhaustedError, match="10 seconds is used up"):
        child.reserve(NO_USAGE)


def test_a_money_limit_needs_prices():
    tracker = BudgetTracker(parent=BudgetTracker(Budget(cost=1.0)))
    with pytest.raises(ConfigError, match="none are known for 'mystery'"):
        tracker.require_prices(Profile(), "mystery")
    tracker.require_prices(PRICED, "mystery")
    BudgetTracker(Budget(tokens=1)).require_prices(Profile(), "mystery")


steps = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), max_size=30)


@given(steps, st.integers(1, 12))
def test_whatever_is_reserved_and_settled_the_bound_holds(script: list[tuple[int, int, int]], bound: int):
    """Children reserve a worst case and use at most that, in any order: their sum never passes the parent's budget."""
    parent = BudgetTracker(Budget(requests=bound))
    children = [BudgetTracker(parent=parent) for _ in range(3)]
    open_ones = []
    for who, worst, used in script:
        try:
            open_ones.append((children[who].reserve(Usage(requests=worst)), min(used, worst)))
        except BudgetExhaustedError:
            if open_ones:
                reservation, amount = open_ones.pop(0)
                reservation.settle(Usage(requests=amount))
        assert parent.spent.requests + parent.reserved.requests <= bound
    for reservation, amount in open_ones:
        reservation.settle(Usage(requests=amount))
    assert parent.reserved.requests == 0
    assert parent.spent.requests == sum(child.spent.requests for child in children) <= bound
