"""An event loop whose clock does not wait: when nothing is ready, it jumps to the next timer.

So a test says what overlaps and what times out by the clock of the loop, exactly and at once, however busy the machine
is. Not for work in threads, other processes or over the network: they take real time, and the clock would run ahead of
them.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._clock

    def advance(self, seconds: float) -> None:
        self._clock += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            # Nothing is ready and nothing is scheduled: only a thread could go on, or the test hangs.
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self._loop.advance(timeout)
        return ready


def go_virtual(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result of async work, and how many seconds it took by the clock of its loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        result = runner.run(work)
        return result, runner.get_loop().time()


def in_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine function, on such a loop."""

    @wraps(test)
    def run(**given: Any) -> None:
        go_virtual(test(**given))

    return run
