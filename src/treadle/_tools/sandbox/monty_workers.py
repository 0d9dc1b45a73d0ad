"""Worker processes of the Monty interpreter, each turn of them waited for by a thread of ours.

Monty's own asynchronous interface answers from native threads, which still need the Python interpreter after they
have answered: a program that ended at that moment was aborted. Threads of ours are joined before the interpreter ends.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from treadle._types.errors import MissingExtraError

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontySession

T = TypeVar("T")

_MAX_WORKERS = 64
_CHECKOUT_SECONDS = 60.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Worker:
    """One worker process with a session; cancelling a turn of it kills the process."""

    def __init__(self, session: MontySession, threads: ThreadPoolExecutor) -> None:
        self.session = session
        self._threads = threads
        self._pid = session.worker_pid
        self._turn: Future[Any] = Future()
        self._turn.set_result(None)

    async def turn(self, step: Callable[..., T], *args: Any, **named: Any) -> T:
        """Return the result of a step; it blocks a thread until the worker has answered."""
        turn = self._turn = self._threads.submit(partial(step, *args, **named))
        return await asyncio.wrap_future(turn)

    async def leave(self) -> None:
        """Give the worker back, or kill it when it still works on a turn that nobody waits for any more."""
        if not self._turn.done() and self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, _KILL)
        await asyncio.wrap_future(self._threads.submit(self._give_back))

    def _give_back(self) -> None:
        wait([self._turn])
        self.session.__exit__(None, None, None)


class _Pools:
    """The workers of this process, threads that wait for a free one, and threads that wait for an answer.

    There are as many of the last as there are workers, so that nobody who waits for a worker keeps one from going on.
    """

    def __init__(self) -> None:
        self.workers: Monty = load_monty().Monty(
            min_processes=0, max_processes=_MAX_WORKERS, checkout_timeout=_CHECKOUT_SECONDS
        )
        self.workers.__enter__()
        self.checkouts = ThreadPoolExecutor(_MAX_WORKERS, "treadle-sandbox-checkout")
        self.turns = ThreadPoolExecutor(_MAX_WORKERS, "treadle-sandbox")
        atexit.register(self.workers.__exit__, None, None, None)


@asynccontextmanager
async def checkout(**options: Any) -> AsyncGenerator[Worker]:
    """A worker with a fresh session. Raises `TimeoutError` when none becomes free for a minute."""
    pools = _pools_of(os.getpid())
    session = pools.workers.checkout(**options)
    entering = pools.checkouts.submit(session.__enter__)
    try:
        await asyncio.wrap_future(entering)
    except asyncio.CancelledError:
        entering.add_done_callback(partial(_leave_unused, session))
        raise
    worker = Worker(session, pools.turns)
    try:
        yield worker
    finally:
        await worker.leave()


def _leave_unused(session: MontySession, entering: Future[Any]) -> None:
    if not entering.cancelled() and entering.exception() is None:
        session.__exit__(None, None, None)


@cache
def _pools_of(process: int) -> _Pools:  # a forked process cannot use its parent's threads and workers
    return _Pools()


def load_monty() -> Any:
    """The package of the interpreter, which is an extra."""
    try:
        import pydantic_monty
    except ImportError:
        raise MissingExtraError("running code", "sandbox") from None
    return pydantic_monty
