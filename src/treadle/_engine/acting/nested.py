"""Calls of tools from inside a tool (code that calls them as functions) or a document, in the order they are made.

They pass the same gate as the model's own. Their records carry the outer call's id and a number; a call that is in the
log already is answered from there, so that code can be run again after a crash without doing anything twice.
"""

from __future__ import annotations

import asyncio
from typing import Any

from treadle._engine.acting.execute import calls_inside, execute_call
from treadle._engine.acting.round import UNKNOWN_OUTCOME
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause
from treadle._tools.base import Tool, ToolOutcome
from treadle._types.messages import ToolCall
from treadle._types.usage import NO_USAGE, Usage


class NestedCalls:
    """The calls made inside one call."""

    def __init__(self, run: Execution, outer: str, *, replay_only: bool = False) -> None:
        self._run, self._outer, self._replay_only = run, outer, replay_only
        self._count = 0
        self._started, self._done = calls_inside(run, outer)
        self._slots = asyncio.Semaphore(run.settings.parallel)
        self._exclusive = asyncio.Lock()
        self.usage = NO_USAGE
        self.waiting: tuple[ToolCall, ...] = ()
        """Calls for which a person is waited for."""
        self.why: dict[str, str] = {}
        """Why each of them waits."""

    async def call(self, name: str, args: dict[str, Any], tool: Tool | None = None) -> ToolOutcome:
        """`tool` is given where the name is not one that is offered to the model."""
        call = ToolCall(f"{self._outer}.{self._count}", name, args)
        self._count += 1
        recorded = self._from_log(call)
        if recorded is not None:
            return recorded
        async with self._slots:
            callable_tool = tool or self._run.tools.callable_tool(self._run.state, name)
            if callable_tool is not None and not callable_tool.concurrent:
                async with self._exclusive:
                    return await self._make(call, tool)
            return await self._make(call, tool)

    def _from_log(self, call: ToolCall) -> ToolOutcome | None:
        started, done = self._started.get(call.id), self._done.get(call.id)
        same = started is not None and (started.call.name, started.call.args) == (call.name, call.args)
        if done is not None and (started is None or same):
            self.usage += done.usage + Usage(tool_calls=int(done.executed))  # spent by a process before this one
            return ToolOutcome(done.content, done.error, full=done.full, artifacts=done.artifacts, executed=False)
        # The code may have gone another way this time; what is unsafe is not risked for it.
        if self._replay_only or (started is not None and started.call.name == call.name and started.effect == "unsafe"):
            return ToolOutcome(UNKNOWN_OUTCOME.replace("{tool}", call.name), "unknown_outcome", executed=False)
        return None

    async def _make(self, call: ToolCall, tool: Tool | None) -> ToolOutcome:
        try:
            outcome = await execute_call(self._run, call, tool=tool)
        except Pause as pause:
            self.waiting += pause.calls
            self.why |= pause.reasons()
            raise
        self.usage += outcome.usage + Usage(tool_calls=int(outcome.executed))
        return outcome
