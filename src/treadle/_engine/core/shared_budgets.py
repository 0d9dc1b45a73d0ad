"""Budgets that a run shares with other runs, in whatever process: what was spent is in the journal.

A worst case is added to the sums in the journal before it is spent, in one step with the check, and what was not used
is given back. What a process had set aside when it was killed stays counted until the day or month is over.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from treadle._engine.core.budget import BudgetTracker, exceeded
from treadle._engine.settings import SharedBudget
from treadle._journal.base import Journal
from treadle._types.errors import ConfigError
from treadle._types.usage import NO_USAGE, Usage

_PERIODS = {"day": "%Y-%m-%d", "month": "%Y-%m", "ever": ""}


class SharedTracker(BudgetTracker):
    """One such budget among those of a run. The journal counts; here is what it said last."""

    def __init__(self, budget: SharedBudget, whose: str, parent: BudgetTracker | None) -> None:
        super().__init__(budget, parent=parent)
        self.shared = budget
        self._whose = whose.encode("utf-8", "backslashreplace").decode().replace("\0", "")
        self.label = f" of {budget.by} {whose or '(without a name)'}" if budget.by != "all" else ""
        self.label += "" if budget.per == "ever" else f" a {budget.per}"

    def key(self, now: float) -> str:
        """The name of its sum in the journal at this time."""
        return f"{self.shared.per}:{time.strftime(_PERIODS[self.shared.per], time.gmtime(now))}:{self.name}"

    @property
    def name(self) -> str:
        return f"{self.shared.by}:{self._whose}"

    def count(self, reserved: Usage, spent: Usage) -> None:
        """Do nothing: the sum in the journal has it."""

    def fits(self, total: Usage) -> bool:
        """Return whether the sum may be so large."""
        return exceeded(self.shared, total) is None


class SharedBudgets:
    """All shared budgets of a run: its own, and those of the run around it."""

    def __init__(
        self,
        budgets: tuple[SharedBudget, ...],
        names: Mapping[str, str],
        journal: Journal | None,
        parent: BudgetTracker | None,
        around: SharedBudgets | None,
    ) -> None:
        if journal is None:
            raise ConfigError("budgets that runs share are counted in a journal: give the agent journal=...")
        self._journal = journal
        self.trackers: list[SharedTracker] = list(around.trackers) if around is not None else []
        self.innermost = parent
        """The last of the chain, to which the run's own budget belongs."""
        for budget in budgets:
            tracker = SharedTracker(budget, names[budget.by], self.innermost)
            if not any((one.name, one.shared) == (tracker.name, budget) for one in self.trackers):
                self.trackers.append(tracker)
                self.innermost = tracker

    async def refresh(self) -> None:
        """Ask the journal what has been spent."""
        now = time.time()
        spent = await self._journal.spent([tracker.key(now) for tracker in self.trackers])
        for tracker in self.trackers:
            tracker.spent = spent.get(tracker.key(now), NO_USAGE)

    async def take(self, amount: Usage) -> tuple[str, ...] | None:
        """Add to all sums, or to none if somebody else was faster; return their names, under which it is settled."""
        now = time.time()
        limits: dict[str, list[SharedTracker]] = {}
        for tracker in self.trackers:
            limits.setdefault(tracker.key(now), []).append(tracker)

        def fits(key: str, total: Usage) -> bool:
            return all(tracker.fits(total) for tracker in limits[key])

        return tuple(limits) if await self._journal.spend(tuple(limits), amount, fits) else None

    async def settle(self, keys: tuple[str, ...], amount: Usage, used: Usage) -> None:
        """Put what was used in the place of what was set aside."""
        if used != amount:
            await self._journal.spend(keys, used - amount, _anything)


def _anything(key: str, total: Usage) -> bool:
    return True
