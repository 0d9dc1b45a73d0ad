"""Who is asked about the calls of tools marked `ask`, and the guards that a reply policy brings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from treadle._engine.context import RunContext
from treadle._engine.core.decisions import Answer
from treadle._engine.plugin import Plugin
from treadle._tools.base import ToolOutcome
from treadle._types.messages import ToolCall, UserMessage

Ask = Callable[[ToolCall], Awaitable[Answer | None]]
AskAll = Callable[[Sequence[ToolCall]], Awaitable[bool | Mapping[str, Answer] | None]]


class Approval(Plugin):
    """Asks at once, with `ask`, an async function of the call: True allows, False refuses, None pauses the run; a
    mapping may change the arguments (`{"allow": True, "args": {...}}`) or allow the tool for this run (`"always"`).

    Without `ask` the run pauses, durably. An `ask` that raises has refused.

    `ask_all` is asked once about several calls of a reply: it returns what `approve=` of `resume` takes, or None.
    """

    name = "approval"

    def __init__(self, ask: Ask | None = None, ask_all: AskAll | None = None) -> None:
        self.ask, self.ask_all = ask, ask_all

    async def on_approvals(self, run: RunContext, calls: Sequence[ToolCall]) -> bool | Mapping[str, Answer] | None:
        return await self.ask_all(calls) if self.ask_all is not None else None

    async def on_approval(self, run: RunContext, call: ToolCall) -> Answer | None:
        return await self.ask(call) if self.ask is not None else None


class PolicyGuard(Plugin):
    """Passes its hooks on to the policy's guard of the same name. A run without a reply policy has none, and loads
    none; which model a run has may turn out only at first contact with its server, after the plug-ins are chosen."""

    harmless = True
    advisory = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        policy = run.reply_policy
        guard = None if policy is None else policy.guard(self.name)
        return call if guard is None else await guard.before_tool(run, call)

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        policy = run.reply_policy
        guard = None if policy is None else policy.guard(self.name)
        return answer if guard is None else await guard.before_finish(run, answer)
