"""The task that drives a run: started once, stopped from any thread, with everything it started."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any

from treadle._types.errors import TreadleError
from treadle._types.ids import fresh_id


class Lifecycle:
    """One driver of one run in this process. `children` are the lifecycles of runs it started."""

    def __init__(self, parent: Lifecycle | None = None) -> None:
        self.parent = parent
        self.owner = fresh_id()
        """Names this driver when it claims the run in the journal."""
        self.task: asyncio.Task[Any] | None = None
        self.stopping = ""
        """Why the run is being stopped from outside: cancelled | budget. Empty while it is not."""
        self.sealed = False
        """The last record is being stored: nothing can stop the run any more."""
        self.abandoned = False
        self._work: Coroutine[Any, Any, Any] | None = None
        self.children: set[Lifecycle] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    def begin(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            work.close()
            raise TreadleError(
                "a run works in the background of an event loop, and none runs here: use agent.run_sync(question), or "
                "call agent.start inside async def"
            ) from None
        self._thread = threading.get_ident()
        self._work = work
        self.task = self._loop.create_task(work, name=name)
        if (parent := self.parent) is not None:
            parent.children.add(self)
            self.task.add_done_callback(lambda _: parent.children.discard(self))
        return self.task

    def stop(self, why: str) -> bool:
        """Stop model and tools as soon as possible, the children's first. Safe from any thread. False if it is too
        late: the run has ended, or is about to record its end."""
        if self.sealed or (self.task is not None and self.task.done()):
            return False
        if self.stopping:
            return True
        self.stopping = why
        for child in tuple(self.children):
            child.stop(why)
        if self._loop is None or self.task is None or self._loop.is_closed():
            return True
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._cancel)
        elif self._work is not None and getcoroutinestate(self._work) == CORO_CREATED:
            # A task that is cancelled before its first step never takes it, and its run would have no end.
            self._loop.call_soon(self._cancel)
        else:
            self.task.cancel()
        return True

    def _cancel(self) -> None:
        if not self.sealed and self.task is not None:
            self.task.cancel()

    async def settled(self) -> None:
        """Until every run inside this one that still works has ended or waits itself."""
        if tasks := [child.task for child in self.children if child.task is not None]:
            await asyncio.wait(tasks)

    async def abandon(self) -> None:
        """Let go without recording an end: the log is left as a crash would leave it, for another driver to resume."""
        tasks = [task for task in self._let_go() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _let_go(self) -> list[asyncio.Task[Any]]:
        """The tasks of this run and of those inside it, outermost first: none may see another end and go on."""
        self.abandoned = True
        inside = [task for child in tuple(self.children) for task in child._let_go()]
        return inside if self.task is None else [self.task, *inside]

    async def check(self) -> None:
        """A model or tool that never yields to the event loop must not outrun a stop."""
        if self.stopping:
            await asyncio.sleep(0)
            raise asyncio.CancelledError
