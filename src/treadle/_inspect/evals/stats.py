"""Shares of tasks solved, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable

from msgspec import Struct

Z = 1.959963984540054
"""The quantile for a confidence of 95 %."""


class Share(Struct, frozen=True):
    """A share of tasks solved. `low` and `high` bound it with 95 % confidence."""

    solved: float
    """Tasks solved; with repeats each counts for the part of its runs that passed."""
    tasks: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.solved / self.tasks if self.tasks else 0.0

    def __str__(self) -> str:
        solved = f"{self.solved:.1f}".removesuffix(".0")
        return f"{solved}/{self.tasks} = {100 * self.value:.0f} % ({100 * self.low:.0f} to {100 * self.high:.0f})"


def wilson(solved: float, tasks: int, z: float = Z) -> tuple[float, float]:
    """Wilson's score interval, which also holds for few tasks and for shares near 0 and 1."""
    if tasks == 0:
        return 0.0, 1.0
    share = solved / tasks
    spread = 1 + z * z / tasks
    middle = (share + z * z / (2 * tasks)) / spread
    half = z / spread * math.sqrt(share * (1 - share) / tasks + z * z / (4 * tasks * tasks))
    return max(0.0, middle - half), min(1.0, middle + half)


def share_of(outcomes: Iterable[tuple[Hashable, bool]]) -> Share:
    """The share for runs given as (task, passed).

    Runs of the same task are not independent of each other. So the tasks are counted, not the runs: repeats never make
    an interval narrower than the number of different tasks allows.
    """
    runs: dict[Hashable, list[bool]] = {}
    for task, passed in outcomes:
        runs.setdefault(task, []).append(passed)
    solved = sum(sum(passed) / len(passed) for passed in runs.values())
    low, high = wilson(solved, len(runs))
    return Share(solved, len(runs), low, high)
