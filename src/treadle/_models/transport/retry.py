"""When a failed model call is worth another attempt, and how long to wait. The engine runs the loop and records each attempt."""

from __future__ import annotations

from random import Random

from msgspec import Struct

from treadle._types.errors import TransientModelError

_random = Random()


class RetryPolicy(Struct, frozen=True):
    """`attempts` counts the first one too."""

    attempts: int = 3
    base: float = 0.5
    """The first pause is somewhere between nothing and this many seconds; each further one may be twice as long."""
    cap: float = 60.0
    """No pause of our own is longer."""
    patience: float = 300.0
    """The longest pause a server may ask for. One that wants more (a day's quota is used up) will refuse again after any
    pause a person would sit through: better to fail now, with the reason, and let a fallback model take over."""

    def retryable(self, error: BaseException) -> bool:
        return isinstance(error, TransientModelError) and (error.retry_after or 0.0) <= self.patience

    def delay(self, attempt: int, error: BaseException | None = None, random: Random = _random) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed.

        Full jitter: many runs that failed at the same moment must not come back at the same moment.
        """
        # 2 ** 40 seconds are far beyond any cap; a larger power would overflow a float.
        pause = random.uniform(0.0, min(self.cap, self.base * 2.0 ** min(attempt - 1, 40)))
        wish = error.retry_after if isinstance(error, TransientModelError) else None
        return max(pause, min(wish or 0.0, self.patience))
