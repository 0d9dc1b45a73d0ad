"""Eager tools: while the model still writes, a `pure` call whose arguments are complete already runs.

Nothing is recorded until the reply is whole and read; a result is used only for the very call that was adopted, and
thrown away otherwise. That is safe because only tools without effects start early, and only when nothing stands between
the call and its execution (approval, budget of calls, extras).
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from treadle._engine.acting.call_context import CallContext
from treadle._engine.acting.execute import may_start_early, start_early
from treadle._engine.core.execution import Execution
from treadle._tools.base import ToolOutcome
from treadle._types.messages import ToolCall
from treadle._types.request import CallDelta


class Eager:
    def __init__(self) -> None:
        self._writing: dict[int, list[str]] = {}
        self._started: dict[tuple[str, bytes], tuple[asyncio.Task[ToolOutcome], CallContext]] = {}

    def feed(self, run: Execution, part: CallDelta) -> None:
        """A fragment of a call; the last one may start it."""
        name, arguments = self._writing.setdefault(part.index, ["", ""])
        self._writing[part.index] = [name or part.name, arguments + part.arguments]
        if part.done:
            self._start(run, *self._writing.pop(part.index))

    def take(self, call: ToolCall) -> asyncio.Task[ToolOutcome] | None:
        """The early execution of this call, if there is one."""
        if not self._started or (early := self._started.pop(_key(call.name, call.args), None)) is None:
            return None
        task, context = early
        context.adopt(call.id)
        return task

    def discard(self) -> None:
        """The reply was not adopted, or is done with: stop what nobody asked for."""
        if not self._writing and not self._started:
            return
        self._writing.clear()
        for task, _ in self._started.values():
            task.cancel()
        self._started.clear()

    def _start(self, run: Execution, name: str, arguments: str) -> None:
        settings = run.settings
        tool = run.tools.toolkit.get(name) if name in run.state.tool_names() else None
        if tool is None or not may_start_early(run, tool):
            return
        at_once = 1 if settings.one_tool_per_step is True else settings.parallel
        if at_once == 1 or len(self._started) >= at_once:
            return
        try:
            args = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError):
            return
        if (key := _key(name, args)) not in self._started:
            self._started[key] = start_early(run, tool, ToolCall("", name, args))


def _key(name: str, args: dict[str, Any]) -> tuple[str, bytes]:
    return name, msgspec.json.encode(args, order="sorted")
