"""A budget that is reserved before it is spent, shared by a run and everything it starts."""

from __future__ import annotations

import time

from treadle._engine.settings import Budget
from treadle._types.errors import BudgetExhaustedError, ConfigError
from treadle._types.profile import Profile
from treadle._types.usage import NO_USAGE, Usage


def price(usage: Usage, profile: Profile) -> float | None:
    """What this usage costs in US dollars, None when the model's prices are not known."""
    prices = profile.prices
    if prices is None:
        return None
    cached = prices.input if prices.cached is None else prices.cached
    written = prices.input if prices.cache_write is None else prices.cache_write
    fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    total = fresh * prices.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
    return (total + usage.output_tokens * prices.output) / 1e6


class Reservation:
    """A worst case that was set aside; `settle` replaces it by what was really used."""

    __slots__ = ("_tracker", "amount")

    def __init__(self, tracker: BudgetTracker, amount: Usage) -> None:
        self._tracker = tracker
        self.amount = amount

    def settle(self, used: Usage) -> None:
        self._tracker.release(self.amount, used)
        self.amount = NO_USAGE


class BudgetTracker:
    """Counts what is spent and what is reserved. Without a budget it only counts.

    A child's tracker passes every reservation on to its parent's, so parallel children can never overshoot together.
    """

    def __init__(
        self, budget: Budget | None = None, *, parent: BudgetTracker | None = None, spent: Usage = NO_USAGE
    ) -> None:
        self.budget = budget
        self.parent = parent
        self.spent = spent
        self.reserved = NO_USAGE
        self.started = time.monotonic()

    @property
    def bounded(self) -> bool:
        return self.budget is not None or (self.parent is not None and self.parent.bounded)

    def require_prices(self, profile: Profile, model: str) -> None:
        tracker: BudgetTracker | None = self
        while tracker is not None:
            if tracker.budget is not None and tracker.budget.cost is not None and profile.prices is None:
                raise ConfigError(
                    f"a money limit needs prices, and none are known for {model!r}: "
                    "give them with OpenAIModel(..., profile=Profile(prices=Prices(input=..., output=...))), "
                    "or limit tokens instead"
                )
            tracker = tracker.parent

    def reserve(self, worst: Usage, *, keep: Usage = NO_USAGE) -> Reservation:
        """Set the worst case aside, or raise `BudgetExhaustedError`. `keep`, the answer's share, must still fit."""
        self._check(worst + keep)
        self._add(worst)
        return Reservation(self, worst)

    def release(self, amount: Usage, used: Usage) -> None:
        self.reserved = _minus(self.reserved, amount)
        self.spent += used
        if self.parent is not None:
            self.parent.release(amount, used)

    def seconds_left(self) -> float | None:
        """Of this budget or of one above it, whichever ends first; None when no time is set."""
        left = self._own_seconds_left()
        above = self.parent.seconds_left() if self.parent is not None else None
        return above if left is None else left if above is None else min(left, above)

    def _own_seconds_left(self) -> float | None:
        if self.budget is None or self.budget.seconds is None:
            return None
        return self.budget.seconds - (time.monotonic() - self.started)

    def _add(self, amount: Usage) -> None:
        self.reserved += amount
        if self.parent is not None:
            self.parent._add(amount)

    def _check(self, worst: Usage) -> None:
        budget = self.budget
        if budget is not None:
            total = self.spent + self.reserved + worst
            for name, limit, value in (
                ("tokens", budget.tokens, total.total_tokens),
                ("input_tokens", budget.input_tokens, total.input_tokens),
                ("output_tokens", budget.output_tokens, total.output_tokens),
                ("cost", budget.cost, total.cost or 0.0),
                ("requests", budget.requests, total.requests),
                ("tool_calls", budget.tool_calls, total.tool_calls),
            ):
                if limit is not None and value > limit:
                    raise BudgetExhaustedError(
                        f"the budget of {limit} {name} cannot cover the next step (worst case {value})", cost=self.spent
                    )
            left = self._own_seconds_left()
            if left is not None and left <= 0:
                raise BudgetExhaustedError(f"the budget of {budget.seconds} seconds is used up", cost=self.spent)
        if self.parent is not None:
            self.parent._check(worst)


def _minus(a: Usage, b: Usage) -> Usage:
    return a + Usage(
        -b.input_tokens, -b.output_tokens, -b.cached_tokens, -b.cache_write_tokens, -b.reasoning_tokens, -b.requests,
        -b.tool_calls, None if b.cost is None else -b.cost,
    )  # fmt: skip
