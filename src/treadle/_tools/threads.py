"""Threads for sync tools: a bounded pool of daemon threads that never delays the event loop or the end of the process.

A thread cannot be stopped. When its caller gives up, the thread is abandoned: another one replaces it, and it ends when
its work does.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class _Job:
    __slots__ = ("context", "future", "loop", "state", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[tuple[Any, BaseException | None]] = self.loop.create_future()
        self.state: str = "waiting"
        """waiting | running | abandoned"""

    def begin(self) -> None:
        self.state = "running"  # a method, since another thread may change the state right after it

    def run(self) -> None:
        result: tuple[Any, BaseException | None]
        try:
            result = self.context.run(self.work), None
        except BaseException as error:
            # As a value: a future refuses StopIteration, and nothing may end the thread.
            result = None, error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is waiting
            self.loop.call_soon_threadsafe(self._deliver, result)

    def _deliver(self, result: tuple[Any, BaseException | None]) -> None:
        if not self.future.done():
            self.future.set_result(result)


class ToolThreads:
    def __init__(self, size: int = 32, max_abandoned: int = 256) -> None:
        self._size = size
        self._max_abandoned = max_abandoned
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._active = 0
        """Jobs that wait or run and are not abandoned."""
        self._threads = 0
        """Threads for these jobs."""
        self._abandoned = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """`work()` in a thread, with the caller's context variables. Raises what it raises, whatever that is.

        Cancelling abandons the thread if the work has started, and drops the work if it has not.
        """
        job = _Job(work)
        self._submit(job)
        try:
            value, error = await job.future
        except BaseException:
            self._abandon(job)
            raise
        if isinstance(error, (GeneratorExit, StopIteration)):  # raised in a coroutine, these would end it
            raise RuntimeError(type(error).__name__) from error
        if error is not None:
            raise error
        return value

    def _submit(self, job: _Job) -> None:
        if self._pid != os.getpid():  # a fork copies the counters but not the threads
            self._reset()
        with self._lock:
            self._active += 1
            try:
                self._grow()
            except RuntimeError:  # the system refuses to start another thread
                if not self._threads:
                    self._active -= 1
                    raise
        self._jobs.put(job)

    def _grow(self) -> None:
        while self._threads < min(self._active, self._size):
            threading.Thread(target=self._serve, name="treadle-tool", daemon=True).start()
            self._threads += 1

    def _serve(self) -> None:
        while True:
            job = self._jobs.get()
            with self._lock:
                if job.state == "abandoned":
                    continue
                job.begin()
            job.run()
            with self._lock:
                if job.state == "abandoned":
                    self._abandoned -= 1
                    return
                self._active -= 1
            del job  # do not keep its result alive while waiting for the next

    def _abandon(self, job: _Job) -> None:
        with self._lock:
            if job.state == "waiting":
                self._active -= 1
            elif self._abandoned < self._max_abandoned:
                self._active -= 1
                self._threads -= 1
                self._abandoned += 1
            else:
                return
            job.state = "abandoned"
            with contextlib.suppress(RuntimeError):
                self._grow()
