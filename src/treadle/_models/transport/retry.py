"""Which failed model calls are tried again, and after what pause. The engine runs the loop and records each attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from treadle._safety.bounds import Count, Pause, check_fields
from treadle._types.errors import TransientModelError

if TYPE_CHECKING:
    from random import Random


class RetryPolicy(Struct, frozen=True):
    """How often and after what pauses a failed model call is tried again. `attempts` counts the first one too."""

    attempts: Count = 3
    """The first one included: 1 never tries again."""
    base: Pause = 0.5
    """The first pause is between 0 and this many seconds; the limit doubles with each further one."""
    cap: Pause = 60.0
    """The limit of a pause, unless the server asks for a longer one."""
    patience: Pause = 300.0
    """The longest pause a server may ask for; when it asks for more, the call fails at once."""

    def __post_init__(self) -> None:
        check_fields(self, "RetryPolicy.")

    def retryable(self, error: BaseException) -> bool:
        return isinstance(error, TransientModelError) and (error.retry_after or 0.0) <= self.patience

    def delay(self, attempt: int, error: BaseException | None = None, chance: Random | None = None) -> float:
        """Seconds to wait after attempt number `attempt` (from 1) failed.

        Full jitter: many runs that failed at the same moment must not try again at the same moment.
        """
        from random import Random

        # 2 ** 40 seconds are far beyond any cap; a larger power would overflow a float.
        pause = (chance or Random()).uniform(0.0, min(self.cap, self.base * 2.0 ** min(attempt - 1, 40)))
        requested = error.retry_after if isinstance(error, TransientModelError) else None
        return max(pause, min(requested or 0.0, self.patience))
