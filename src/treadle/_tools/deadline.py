"""A time limit for a coroutine, like `asyncio.timeout`.

Every tool call has one, so it costs nothing for work that never waits: no timer is set before the work first suspends.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")


class Deadline:
    """Cancels `task` when the work it runs takes longer than `seconds`; then `expired` is true."""

    __slots__ = ("_handle", "_seconds", "_task", "blocked", "expired")

    def __init__(self, task: asyncio.Task[object], seconds: float | None) -> None:
        self.expired = False
        self.blocked = 0.0
        """Seconds until the work first waited for something, or ended: nothing else could run meanwhile."""
        self._task = task
        self._seconds = seconds
        self._handle: asyncio.TimerHandle | None = None

    @types.coroutine
    def run(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """The result of `work`, which must run in `task`."""
        started = perf_counter()
        try:
            waiting = work.send(None)
        except StopIteration as done:
            self.blocked = perf_counter() - started
            return done.value
        self.blocked = perf_counter() - started
        if self._seconds is not None:
            self._handle = self._task.get_loop().call_later(self._seconds - self.blocked, self._expire)
        try:
            while True:
                try:
                    answer = yield waiting
                except GeneratorExit:
                    work.close()
                    raise
                except BaseException as error:
                    waiting = work.throw(error)
                else:
                    waiting = work.send(answer)
        except StopIteration as done:
            return done.value
        finally:
            self._stop()

    def _expire(self) -> None:
        self.expired = True
        self._task.cancel()

    def _stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self.expired:
            self._task.uncancel()
