"""Approval: who is asked about the calls of tools marked `ask`. The gate itself decides that they are asked about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from treadle._engine.context import RunContext
from treadle._engine.core.decisions import Answer
from treadle._engine.plugin import Plugin
from treadle._types.messages import ToolCall

Ask = Callable[[ToolCall], Awaitable[Answer | None]]


class Approval(Plugin):
    """Asks at once, with `ask`, an async function of the call: True allows, False refuses, None pauses the run; a
    mapping may change the arguments (`{"allow": True, "args": {...}}`) or allow the tool for this run (`"always"`).

    Without `ask` (and without this plug-in) the run pauses, durably, and `Agent.resume` goes on once `Run.approve` (or
    the API) has decided. An `ask` that raises has refused.
    """

    name = "approval"

    def __init__(self, ask: Ask | None = None) -> None:
        self.ask = ask

    async def on_approval(self, run: RunContext, call: ToolCall) -> Answer | None:
        return await self.ask(call) if self.ask is not None else None
