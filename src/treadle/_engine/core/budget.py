"""A budget that is reserved before it is spent, shared by a run and everything it starts."""

from __future__ import annotations

import time
from collections.abc import Iterator

from treadle._engine.settings import Budget
from treadle._types.errors import BudgetExhaustedError, ConfigError
from treadle._types.profile import Profile
from treadle._types.usage import NO_USAGE, Usage

_ROUNDING = 1e-9
"""Sums of prices are not exact: by this share of a limit they may pass it."""


def price(usage: Usage, profile: Profile) -> float | None:
    """Return what this usage costs in US dollars, None when the model's prices are not known."""
    prices = profile.prices
    if prices is None:
        return None
    cached = prices.input if prices.cached is None else prices.cached
    written = prices.input if prices.cache_write is None else prices.cache_write
    fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    total = fresh * prices.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
    return (total + usage.output_tokens * prices.output) / 1e6


def exceeded(budget: Budget, total: Usage) -> tuple[str, float, float] | None:
    """Return the first limit that a sum passes: its name, itself, and the sum."""
    for name, limit, value in (
        ("tokens", budget.tokens, total.total_tokens),
        ("input_tokens", budget.input_tokens, total.input_tokens),
        ("output_tokens", budget.output_tokens, total.output_tokens),
        ("cost", budget.cost, total.cost or 0.0),
        ("requests", budget.requests, total.requests),
        ("tool_calls", budget.tool_calls, total.tool_calls),
    ):
        if limit is not None and value > limit * (1 + _ROUNDING):
            return name, limit, value
    return None


class Reservation:
    """A worst case that was set aside; `settle` replaces it by what was really used."""

    __slots__ = ("_tracker", "amount", "shared")

    def __init__(self, tracker: BudgetTracker, amount: Usage) -> None:
        self._tracker = tracker
        self.amount = amount
        self.shared: tuple[str, ...] = ()
        """The sums in the journal that it was added to."""

    def settle(self, used: Usage) -> None:
        self._tracker.release(self.amount, used)
        self.amount = NO_USAGE


class BudgetTracker:
    """Counts what is spent and what is reserved. Without a budget it only counts.

    A child's tracker passes every reservation on to its parent's, so parallel children can never overshoot together.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        *,
        parent: BudgetTracker | None = None,
        spent: Usage = NO_USAGE,
        seconds: float = 0.0,
    ) -> None:
        """`spent` and `seconds` are what the run has used up before, in another process or before a pause."""
        self.budget = budget
        self.parent = parent
        self.spent = spent
        self.reserved = NO_USAGE
        self.label = ""
        """Whose it is, for its message, where that is not the run's."""
        self.held = NO_USAGE
        """What the run needs for its own last answer: neither it nor anything it starts may spend this before."""
        self.started = time.monotonic() - seconds
        self.bounded = budget is not None or (parent is not None and parent.bounded)
        """Whether a budget holds here at all: asked several times in each step."""

    def require_prices(self, profile: Profile, model: str) -> None:
        for tracker in self._upward():
            if tracker.budget is not None and tracker.budget.cost is not None and profile.prices is None:
                raise ConfigError(
                    f"a money limit needs prices, and none are known for {model!r}: "
                    "give the model's profile prices, or limit tokens instead"
                )

    def reserve(self, worst: Usage) -> Reservation:
        """Set the worst case aside, or raise `BudgetExhaustedError`. What is held for answers must still fit."""
        self._check_all(worst)
        for tracker in self._upward():
            tracker.count(worst, NO_USAGE)
        return Reservation(self, worst)

    def covers(self, worst: Usage) -> bool:
        """Return whether that much could be reserved now."""
        try:
            self._check_all(worst)
        except BudgetExhaustedError:
            return False
        return True

    def _check_all(self, worst: Usage) -> None:
        for tracker in self._upward():
            worst += tracker.held
            tracker._check(worst)

    def room(self, request: Usage, profile: Profile) -> int | None:
        """The output tokens that fit beside what a request sends; None when nothing limits them."""
        rooms: list[float] = []
        for tracker in self._upward():
            request += tracker.held
            if (budget := tracker.budget) is None:
                continue
            used = tracker.spent + tracker.reserved + request
            if budget.tokens is not None:
                rooms.append(budget.tokens - used.total_tokens)
            if budget.output_tokens is not None:
                rooms.append(budget.output_tokens - used.output_tokens)
            if budget.cost is not None and profile.prices is not None and profile.prices.output > 0:
                rooms.append((budget.cost - (used.cost or 0.0)) * 1e6 / profile.prices.output)
        return max(0, int(min(rooms))) if rooms else None

    def release(self, amount: Usage, used: Usage) -> None:
        for tracker in self._upward():
            tracker.count(NO_USAGE - amount, used)

    def count(self, reserved: Usage, spent: Usage) -> None:
        """Count what was set aside, or given back, and what was spent."""
        self.reserved += reserved
        self.spent += spent

    def charge(self, used: Usage) -> None:
        """Count what runs inside this one have spent before it was resumed. A budget above counts that itself."""
        self.spent += used

    def seconds_left(self) -> float | None:
        """Of this budget or of one above it, whichever ends first; None when no time is set."""
        left = [seconds for tracker in self._upward() if (seconds := tracker._own_seconds_left()) is not None]
        return min(left, default=None)

    def _upward(self) -> Iterator[BudgetTracker]:
        tracker: BudgetTracker | None = self
        while tracker is not None:
            yield tracker
            tracker = tracker.parent

    def _own_seconds_left(self) -> float | None:
        if self.budget is None or self.budget.seconds is None:
            return None
        return self.budget.seconds - (time.monotonic() - self.started)

    def _check(self, wanted: Usage) -> None:
        budget = self.budget
        if budget is None:
            return
        if (passed := exceeded(budget, self.spent + self.reserved + wanted)) is not None:
            name, limit, value = passed
            raise BudgetExhaustedError(
                f"the budget of {limit} {name}{self.label} cannot cover the next step (worst case {value})",
                cost=self.spent,
            )
        left = self._own_seconds_left()
        if left is not None and left <= 0:
            raise BudgetExhaustedError(f"the budget of {budget.seconds} seconds is used up", cost=self.spent)
