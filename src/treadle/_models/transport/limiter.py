"""One limiter per provider key, shared by all runs of the process, in whatever thread or event loop they are."""

from __future__ import annotations

import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from treadle._lazy import lazy_module

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

MAX_BACK_OFF = 60.0
"""One run's 429 delays the others no longer than this: limits are often per model, and each run meets its own."""
MAX_LIMITERS = 1024
"""A server whose users bring their own keys must not collect limiters for ever: beyond this, idle ones are dropped."""
SPREAD = 0.1
"""Waiting requests start spread over this share of the wait, not all at the same instant."""


class Limiter:
    """`async with limiter:` around each request. When idle it costs a microsecond.

    `cap` limits how many requests run at once; `back_off` stops all of them for as long as the server asked.
    """

    __slots__ = ("_active", "_closed_until", "_lock", "_waiters", "cap")

    def __init__(self, cap: int | None = None) -> None:
        self.cap = cap
        self._active = 0
        self._closed_until = 0.0
        self._lock = threading.Lock()
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        while self._closed_until and (wait := self._closed_until - time.monotonic()) > 0:
            from random import uniform

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
                has_permit = waiter not in self._waiters
                if not has_permit:
                    self._waiters.remove(waiter)
            if has_permit:
                self._release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def back_off(self, seconds: float) -> None:
        """Start no request for so many seconds."""
        self._closed_until = max(self._closed_until, time.monotonic() + min(seconds, MAX_BACK_OFF))

    @property
    def idle(self) -> bool:
        return not self._active and not self._waiters and self._closed_until <= time.monotonic()

    def _release(self) -> None:
        """Give the permit to the request that has waited longest, or return it."""
        while True:
            with self._lock:
                if not self._waiters:
                    self._active -= 1
                    return
                waiter = self._waiters.popleft()
            try:
                waiter.get_loop().call_soon_threadsafe(_wake, waiter)
            except RuntimeError:
                continue  # its event loop is closed: try the next one
            return


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


_limiters: dict[tuple[str, int], Limiter] = {}
_lock = threading.Lock()


def limiter_for(address: str, api_key: str, cap: int | None = None) -> Limiter:
    """The limiter for this key at this address. A `cap` given here applies to all its users from now on."""
    key = (address, hash(api_key))
    with _lock:
        limiter = _limiters.get(key)
        if limiter is None:
            if len(_limiters) >= MAX_LIMITERS:
                for unused in [name for name, other in _limiters.items() if other.cap is None and other.idle]:
                    del _limiters[unused]
            limiter = _limiters[key] = Limiter()
        if cap is not None:
            limiter.cap = cap
    return limiter
