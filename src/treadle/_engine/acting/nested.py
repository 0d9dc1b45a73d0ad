"""Calls of tools from inside a tool (code that calls them as functions): gated, paid for and recorded like the model's own.

Their records carry the outer call's id and a number. A call that is in the log already is answered from there, so that code can
be run again after a crash without doing anything twice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from treadle._engine.acting.call_context import CallContext
from treadle._engine.acting.calls import after_tool, before_tool, offered, offered_tool
from treadle._engine.plugin import Pause
from treadle._tools.base import ToolOutcome
from treadle._tools.runner import run_call
from treadle._types.errors import BudgetExhaustedError
from treadle._types.events import ToolDone, ToolStarted
from treadle._types.messages import ToolCall
from treadle._types.usage import NO_USAGE, Usage

if TYPE_CHECKING:
    from treadle._engine.run import Run

UNKNOWN = (
    "The outcome of this call is unknown: the process stopped while it ran, and it is not safe to run it again. It may or may not have "
    "taken effect; check before you repeat it."
)


class NestedCalls:
    """The calls made inside one call, in the order in which they are made."""

    def __init__(self, run: Run, outer: str, *, replay_only: bool = False) -> None:
        self._run, self._outer, self._replay_only = run, outer, replay_only
        self._made = 0
        self._started, self._done = recorded(run, outer)
        self._room = asyncio.Semaphore(run.settings.max_parallel)
        self._alone = asyncio.Lock()
        self.usage = NO_USAGE

    async def call(self, name: str, args: dict[str, Any]) -> ToolOutcome:
        call = ToolCall(f"{self._outer}.{self._made}", name, args)
        self._made += 1
        known = self._known(call)
        if known is not None:
            return known
        async with self._room:
            tool = offered_tool(self._run, name)
            if tool is not None and not tool.concurrent:
                async with self._alone:
                    return await self._make(call)
            return await self._make(call)

    def _known(self, call: ToolCall) -> ToolOutcome | None:
        started, done = self._started.get(call.id), self._done.get(call.id)
        same = started is not None and (started.call.name, started.call.args) == (call.name, call.args)
        if done is not None and (started is None or same):
            return ToolOutcome(done.content, done.error, full=done.full, artifacts=done.artifacts, executed=False)
        # The code may have gone another way this time; what is unsafe is not risked for it.
        if self._replay_only or (started is not None and started.call.name == call.name and started.effect == "unsafe"):
            return ToolOutcome(UNKNOWN, "unknown_outcome", executed=False)
        return None

    async def _make(self, call: ToolCall) -> ToolOutcome:
        run = self._run
        await run.check()
        try:
            gated = await before_tool(run, call)
        except Pause:
            run.paused_calls = (*run.paused_calls, call)
            raise
        outcome = gated if isinstance(gated, ToolOutcome) else await self._run_it(gated)
        self.usage += outcome.usage + Usage(tool_calls=int(outcome.executed))
        await run.emit(
            ToolDone(
                call.id, call.name, run.state.iteration, outcome.content, outcome.error, outcome.elapsed, outcome.full, outcome.artifacts,
                usage=outcome.usage, executed=outcome.executed,
            )
        )  # fmt: skip
        return outcome

    async def _run_it(self, call: ToolCall) -> ToolOutcome:
        run = self._run
        reservation = None
        if run.purse.bounded:
            try:
                reservation = run.purse.reserve(Usage(tool_calls=1))
            except BudgetExhaustedError as error:
                run.exhausted = error
                return ToolOutcome(f"Not run: {error}.", "rejected", executed=False)
        tool = offered_tool(run, call.name)
        context = CallContext(run, call.id, call.name)
        effect = tool.effect if tool is not None else "pure"
        await run.emit(ToolStarted(call, run.state.iteration, context.idempotency_key, effect))
        known = run.toolkit if tool is not None else offered(run)
        outcome = await run_call(tool, call, limits=run.limits, toolkit=known, extras={}, context=context)
        if run.paused_child is not None:
            raise Pause(f"{call.name} waits for a person")
        if run.hooks.after_tool:
            outcome = await after_tool(run, call, outcome)
        if reservation is not None:
            reservation.settle(Usage(tool_calls=int(outcome.executed)))
        return outcome


def recorded(run: Run, outer: str) -> tuple[dict[str, ToolStarted], dict[str, ToolDone]]:
    """What the log has of the calls inside this one."""
    started: dict[str, ToolStarted] = {}
    done: dict[str, ToolDone] = {}
    for record in run.records:
        event = record.event
        if isinstance(event, ToolStarted) and event.call.id.startswith(f"{outer}."):
            started[event.call.id] = event
        elif isinstance(event, ToolDone) and event.call_id.startswith(f"{outer}."):
            done[event.call_id] = event
    return started, done
