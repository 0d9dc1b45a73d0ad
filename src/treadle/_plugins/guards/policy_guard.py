"""PolicyGuard: stands in a preset for a guard that comes with the reply policy of a model."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._tools.base import ToolOutcome
from treadle._types.messages import ToolCall, UserMessage


class PolicyGuard(Plugin):
    """Passes its hooks on to the policy's guard of the same name. A run without a reply policy has none, and loads
    none; which model a run has may turn out only at first contact with its server, after the plug-ins are chosen."""

    harmless = True
    advisory = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        guard = self._guard(run)
        return call if guard is None else await guard.before_tool(run, call)

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        guard = self._guard(run)
        return answer if guard is None else await guard.before_finish(run, answer)

    def _guard(self, run: RunContext) -> Plugin | None:
        return None if run.reply_policy is None else run.reply_policy.guard(self.name)
