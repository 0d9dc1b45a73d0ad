"""Eager tools: while the model still writes, a `pure` call whose arguments are complete already runs.

Nothing is recorded until the reply is whole and read; a result is used only for the very call that was adopted, and
thrown away otherwise. That is safe because only tools without effects start early, and only when nothing stands between
the call and its execution (approval, budget of calls, extras).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from treadle._engine.acting.call_context import CallContext
from treadle._tools.base import ToolOutcome
from treadle._tools.runner import run_call
from treadle._types.messages import ToolCall
from treadle._types.request import CallDelta

if TYPE_CHECKING:
    from treadle._engine.run import Run


class Eager:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._writing: dict[int, list[str]] = {}
        self._started: dict[tuple[str, bytes], tuple[asyncio.Task[ToolOutcome], CallContext]] = {}

    def feed(self, part: CallDelta) -> None:
        """A fragment of a call; the last one may start it."""
        name, arguments = self._writing.setdefault(part.index, ["", ""])
        self._writing[part.index] = [name or part.name, arguments + part.arguments]
        if part.done:
            self._start(*self._writing.pop(part.index))

    def take(self, call: ToolCall) -> asyncio.Task[ToolOutcome] | None:
        """The early execution of this call, if there is one."""
        if not self._started or (early := self._started.pop(_key(call.name, call.args), None)) is None:
            return None
        task, context = early
        context.adopt(call.id)
        return task

    def discard(self) -> None:
        """The reply was not adopted, or is done with: stop what nobody asked for."""
        self._writing.clear()
        for task, _ in self._started.values():
            task.cancel()
        self._started.clear()

    def _start(self, name: str, arguments: str) -> None:
        run = self._run
        tool = run.toolkit.get(name) if name in run.state.tool_names() else None
        if (
            tool is None
            or tool.effect != "pure"
            or tool.approval != "allow"
            or not tool.concurrent
            or run.extras
            or run.purse.bounded
        ):
            return
        if (
            len(self._started) >= run.settings.max_parallel
            or run.settings.max_parallel == 1
            or run.settings.one_tool_per_step is True
        ):
            return
        try:
            args = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return
        if (key := _key(name, args)) in self._started:
            return
        context = CallContext(run, "", name)
        work = run_call(
            tool, ToolCall("", name, args), limits=run.limits, toolkit=run.toolkit, extras={}, context=context
        )
        self._started[key] = (asyncio.ensure_future(work), context)


def _key(name: str, args: dict[str, Any]) -> tuple[str, bytes]:
    return name, msgspec.json.encode(args, order="sorted")
