"""How much one user may ask for at once, and how often."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Generator
from contextlib import contextmanager

from treadle._server.errors import too_many

_REMEMBERED = 10_000


class Rate:
    """A token bucket per key. Keys nobody has used for long are forgotten first."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, key: str, amount: float = 1.0) -> float:
        """0 if it may be done, else the seconds to wait."""
        now = time.monotonic()
        level, then = self._buckets.pop(key, (self._burst, now))
        level = min(self._burst, level + (now - then) * self._per_second)
        allowed = level >= amount
        self._buckets[key] = (level - amount if allowed else level, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (amount - level) / self._per_second


class Room:
    """At most so many at once, in all and for each key."""

    def __init__(self, what: str, total: int, each: int) -> None:
        self._what = what
        self._total = total
        self._each = each
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    def enter(self, key: str) -> None:
        if self._taken[key] >= self._each:
            raise too_many(f"you have {self._each} {self._what} already: end one first", 5.0)
        if self.taken >= self._total:
            raise too_many(f"the server has no room for more {self._what}: try again later", 5.0)
        self._taken[key] += 1

    def leave(self, key: str) -> None:
        self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]

    @contextmanager
    def place(self, key: str) -> Generator[None]:
        self.enter(key)
        try:
            yield
        finally:
            self.leave(key)
