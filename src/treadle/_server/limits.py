"""How often a user may send requests, and how many runs and streams a user may have at once."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager

from treadle._server.errors import too_many

_MAX_BUCKETS = 10_000


class RateLimit:
    """A token bucket per key. The keys that were used longest ago are forgotten first."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, key: str, amount: float = 1.0) -> float:
        """Return 0 if it is allowed, else the seconds to wait."""
        now = self._clock()
        level, then = self._buckets.pop(key, (self._burst, now))
        level = min(self._burst, level + (now - then) * self._per_second)
        allowed = level >= amount
        self._buckets[key] = (level - amount if allowed else level, now)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (amount - level) / self._per_second


class ConcurrencyLimit:
    """At most `total` of something at once, and at most `per_key` for each key."""

    def __init__(self, what: str, total: int, per_key: int) -> None:
        self._what = what
        self._total = total
        self._per_key = per_key
        self._counts: Counter[str] = Counter()

    @property
    def in_use(self) -> int:
        return self._counts.total()

    def acquire(self, key: str) -> None:
        if self._counts[key] >= self._per_key:
            raise too_many(f"you have {self._per_key} {self._what} already: end one first", 5.0)
        if self.in_use >= self._total:
            raise too_many(f"the server has {self._total} {self._what} already: try again later", 5.0)
        self._counts[key] += 1

    def release(self, key: str) -> None:
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    @contextmanager
    def held(self, key: str) -> Generator[None]:
        self.acquire(key)
        try:
            yield
        finally:
            self.release(key)
