"""The sync bridge: one background event loop, so that scripts, notebooks and threads can use the async engine."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Coroutine, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from treadle._lazy import lazy_module
from treadle._types.errors import TreadleError

if TYPE_CHECKING:
    import asyncio
    import queue
    from concurrent.futures import Future
else:
    asyncio, queue = lazy_module("asyncio"), lazy_module("queue")

T = TypeVar("T")
_CLOSE_SECONDS = 2.0
"""How long the end of a program waits for what still runs."""


class Bridge:
    """Owns a daemon thread with an event loop of its own (and so with its own HTTP sessions)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0
        self._of_parents: list[object] = []
        """Kept, so that nothing of the parent's is closed here: its connections are still in use."""

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if problem := self._problem():
            work.close()
            raise TreadleError(problem)
        return asyncio.run_coroutine_threadsafe(work, self._running_loop())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the work; Ctrl-C cancels it and lets it leave a whole log behind."""
        future = self.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _problem(self) -> str:
        """Why waiting here would never end; empty when it would."""
        if sys.is_finalizing():
            return "the program is ending: no run can be started any more (run_sync in a __del__ or a late callback)"
        if threading.current_thread() is self._thread:
            return (
                "run_sync was called by something that runs inside run_sync, such as an async tool, and would wait for "
                "itself: use await agent.run(...) there, or make the tool a plain def"
            )
        return ""

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._loop.is_closed() or self._process != os.getpid():
                # In a forked process there is a loop, but not the thread that ran it.
                ready: queue.Queue[asyncio.AbstractEventLoop] = queue.Queue()
                self._thread = threading.Thread(target=_serve, args=(ready,), name="treadle-bridge", daemon=True)
                self._thread.start()
                self._loop, self._process = ready.get(), os.getpid()
                atexit.register(self.close)
            return self._loop

    def forget_parent(self) -> None:
        """In a forked process: the thread is not here, and a lock that it held would never be released."""
        self._lock = threading.Lock()
        self._of_parents.append(self._loop)
        self._loop = self._thread = None

    def close(self) -> None:
        """Stop what still runs and close what is open (connections to models); the next call opens a new loop."""
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        atexit.unregister(self.close)
        if loop is None or thread is None or loop.is_closed() or self._process != os.getpid():
            return
        with suppress(RuntimeError):  # it has just been closed
            loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_SECONDS)


def _serve(ready: queue.Queue[asyncio.AbstractEventLoop]) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    ready.put(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_clear_up(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _clear_up(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel what still runs, and let connections be closed before the loop is."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CLOSE_SECONDS / 2)


bridge = Bridge()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=bridge.forget_parent)


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
