"""A plug-in by which a test gets hold of a run from inside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from treadle import Plugin


class Probe(Plugin):
    """Calls a function with the run when an answer is proposed. The engine only logs a hook that fails, so a test calls
    `check` afterwards: it raises what went wrong."""

    name = "probe"

    def __init__(self, work: Callable[[Any], Awaitable[None]]) -> None:
        self._work = work
        self._calls = 0
        self._error: BaseException | None = None

    async def before_finish(self, run: Any, answer: str) -> str:
        self._calls += 1
        try:
            await self._work(run)
        except BaseException as error:
            self._error = self._error or error
            raise
        return answer

    def check(self) -> None:
        if self._error is not None:
            raise self._error
        assert self._calls, "no answer was proposed: the function was not called"
