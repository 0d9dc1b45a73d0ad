"""The sync bridge: one background event loop, so that scripts, notebooks and threads can use the async engine."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


class Bridge:
    """Owns a daemon thread with an event loop of its own (and so with its own HTTP sessions)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._running_loop())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work; Ctrl-C cancels it and lets it leave a whole log behind."""
        future = self.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                ready: queue.Queue[asyncio.AbstractEventLoop] = queue.Queue()
                threading.Thread(target=_serve, args=(ready,), name="treadle-bridge", daemon=True).start()
                self._loop = ready.get()
            return self._loop


def _serve(ready: queue.Queue[asyncio.AbstractEventLoop]) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    ready.put(loop)
    loop.run_forever()


bridge = Bridge()


def drain_queue(pieces: queue.Queue[T | None], future: Future[Any]) -> Generator[T, None, None]:
    """The pieces a background task puts into a queue, until it puts None; closing the generator cancels the task."""
    finished = False
    try:
        while (piece := pieces.get()) is not None:
            yield piece
        finished = True
    finally:
        if not finished:
            future.cancel()
