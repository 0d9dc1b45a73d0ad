"""Approval: calls of tools marked `ask` wait, durably, until a person has decided; `deny` is refused at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from treadle._engine.plugin import Pause, Plugin
from treadle._engine.run import Run
from treadle._tools.base import ToolOutcome
from treadle._types.events import Approved
from treadle._types.messages import ToolCall

Ask = Callable[[ToolCall], Awaitable[bool | None]]


class Approval(Plugin):
    """Without `ask` the run pauses; once `Run.approve` (or the API) has decided, `Agent.resume` resumes it.

    With `ask`, an async function of the call, it is asked at once: True allows, False denies, None pauses.
    """

    name = "approval"

    def __init__(self, ask: Ask | None = None) -> None:
        self.ask = ask

    async def before_tool(self, run: Run, call: ToolCall) -> ToolCall | ToolOutcome:
        tool = run.toolkit.get(call.name)
        if tool is None or tool.approval == "allow":
            return call
        if tool.approval == "deny":
            return ToolOutcome(f"Tool '{call.name}' was not run: it is not allowed here.", "denied", executed=False)
        decision = run.state.approvals.get(call.id)
        if decision is None and self.ask is not None:
            await run.flush()
            if (allow := await self.ask(call)) is not None:
                decision = Approved(call.id, allow)
                await run.emit(decision)
        if decision is None:
            raise Pause(f"approval of {call.name}")
        if decision.allow:
            return call
        note = f": {decision.note}" if decision.note else ""
        return ToolOutcome(f"Tool '{call.name}' was not run: the user refused{note}.", "denied", executed=False)
