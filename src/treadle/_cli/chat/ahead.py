"""Work for the first question of a chat while the user types it: a local model is loaded and reads its instructions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from treadle._agent.agent import Agent
from treadle._engine.run import beginning_of

_LOOK_SECONDS = 0.05
Work = Callable[[], Coroutine[Any, Any, None]]


class Ahead:
    """In a thread with an event loop of its own: that of the chat stands still while a line is read."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def start(self, agent: Agent) -> None:
        """Begin, for a model that can. One that would have to be downloaded waits for the first question: its progress
        would be written over what is being typed."""
        self.stop()
        model: Any = agent.model
        if not hasattr(model, "read_ahead") or model.needs_download:
            return
        # In a process of its own: while it is loaded in this one no Python code runs, not even for Ctrl-C.
        model.isolate()
        request = beginning_of(agent.prepare("-"))
        work: Work = model.load if request is None else partial(model.read_ahead, request)
        self._stopping = threading.Event()
        # A daemon: the end of the chat does not wait for it.
        self._thread = threading.Thread(target=_run, args=(work, self._stopping), name="treadle-ahead", daemon=True)
        self._thread.start()

    async def done(self) -> None:
        """Wait until it is: a question that came earlier would read the same again, beside it."""
        if self._thread is not None:
            from treadle._local.runtime.job import in_thread

            await in_thread(self._thread.join, daemon=True)
            self._thread = None

    def stop(self) -> None:
        self._stopping.set()


def _run(work: Work, stopping: threading.Event) -> None:
    async def until_stopped() -> None:
        task: asyncio.Future[Any] = asyncio.ensure_future(work())
        while not task.done() and not stopping.is_set():
            await asyncio.wait([task], timeout=_LOOK_SECONDS)
        task.cancel()
        await asyncio.wait([task])
        with suppress(asyncio.CancelledError):
            task.exception()

    # Whatever failed fails again with the first question, and is reported there.
    with suppress(Exception):
        asyncio.run(until_stopped())
