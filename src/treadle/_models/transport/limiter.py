"""One limiter per provider key, shared by every run of the process whatever thread or event loop it is on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from random import uniform
from types import TracebackType

MAX_GATE = 60.0
"""One run's 429 holds the others back no longer than this: limits are often per model, and each run finds out for itself."""
MAX_KEPT = 1024
"""A server whose users bring their own keys must not collect limiters for ever: beyond this, the idle ones go."""
SPREAD = 0.1
"""Waiters come back spread over this share of the wait, not all in one instant."""


class Limiter:
    """`async with limiter:` around each request. Idle, it costs a microsecond.

    `cap` bounds the requests under way at once; `back_off` closes the gate for everyone until a moment the server named.
    """

    __slots__ = ("_active", "_gate", "_lock", "_waiters", "cap")

    def __init__(self, cap: int | None = None) -> None:
        self.cap = cap
        self._active = 0
        self._gate = 0.0
        self._lock = threading.Lock()
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        while self._gate and (wait := self._gate - time.monotonic()) > 0:  # noqa: ASYNC110 - the moment is known, no event comes
            await asyncio.sleep(wait * uniform(1.0, 1.0 + SPREAD))
        with self._lock:
            if self.cap is None or self._active < self.cap:
                self._active += 1
                return
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            with self._lock:
                handed_over = waiter not in self._waiters
                if not handed_over:
                    self._waiters.remove(waiter)
            if handed_over:
                self._release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def back_off(self, seconds: float) -> None:
        """Nobody sends anything for so long."""
        self._gate = max(self._gate, time.monotonic() + min(seconds, MAX_GATE))

    @property
    def idle(self) -> bool:
        return not self._active and not self._waiters and self._gate <= time.monotonic()

    def _release(self) -> None:
        """Hand the place to the longest waiting request, or give it back."""
        while True:
            with self._lock:
                if not self._waiters:
                    self._active -= 1
                    return
                waiter = self._waiters.popleft()
            try:
                waiter.get_loop().call_soon_threadsafe(_wake, waiter)
            except RuntimeError:
                continue  # its event loop is closed: the next one in line
            return


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


_limiters: dict[tuple[str, int], Limiter] = {}
_lock = threading.Lock()


def limiter_for(address: str, api_key: str, cap: int | None = None) -> Limiter:
    """The limiter of everyone who uses this key at this address. A `cap` given here holds from now on for all of them."""
    key = (address, hash(api_key))
    with _lock:
        limiter = _limiters.get(key)
        if limiter is None:
            if len(_limiters) >= MAX_KEPT:
                for old in [old for old, kept in _limiters.items() if kept.cap is None and kept.idle]:
                    del _limiters[old]
            limiter = _limiters[key] = Limiter()
        if cap is not None:
            limiter.cap = cap
    return limiter
