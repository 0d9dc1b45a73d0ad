"""A time-out for the running task: what `asyncio.timeout` does, at half its cost, since every tool call pays for it."""

from __future__ import annotations

import asyncio


class Clock:
    """Cancels `task` after `seconds` unless stopped before. Always `stop` it: that takes the cancellation back."""

    __slots__ = ("_handle", "_task", "expired")

    def __init__(self, task: asyncio.Task[object], seconds: float | None) -> None:
        self.expired = False
        self._task = task
        self._handle = None if seconds is None else task.get_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        self.expired = True
        self._task.cancel()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self.expired:
            self._task.uncancel()
