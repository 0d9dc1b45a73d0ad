"""The plug-in seam: an object with optional async hooks, applied in list order.

A hook that wants to change a request emits an event (a message added, tools changed, context compacted); rendering
alone builds requests. A plug-in object holds settings only: whatever must survive a crash is an event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from treadle._tools.base import Tool, ToolOutcome
from treadle._types.errors import ContextOverflowError
from treadle._types.messages import ToolCall, UserMessage

if TYPE_CHECKING:
    from treadle._dialects.base import Decision
    from treadle._engine.result import RunResult
    from treadle._engine.run import Run


class Pause(Exception):
    """Raised by `before_tool`: the run stops here, durably, until a person has answered."""


class Plugin:
    """Override what you need. A hook that fails is logged and ignored, unless it raises `Pause` or a `LimitError`."""

    name = ""
    tools: tuple[Tool, ...] = ()
    """Tools of its own, which it may offer with `run.set_tools`."""
    brings_tools = False
    """Its start adds tools to the run: an agent applies it before those that choose among them."""

    async def on_start(self, run: Run) -> None:
        """Once, before the first round."""

    async def on_resume(self, run: Run) -> None:
        """When a run that was started before goes on, in place of `on_start`."""

    async def before_round(self, run: Run) -> None:
        """Before each model call of the loop."""

    async def after_decision(self, run: Run, decision: Decision) -> None:
        """After a reply was read and recorded, before its calls run."""

    async def before_tool(self, run: Run, call: ToolCall) -> ToolCall | ToolOutcome:
        """Return the call, another one in its place, or an outcome (then nothing is executed)."""
        return call

    async def after_tool(self, run: Run, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """What is returned is what gets recorded."""
        return outcome

    async def after_round(self, run: Run) -> None:
        """After the results of a reply's calls are in the conversation."""

    async def before_finish(self, run: Run, answer: str) -> str | UserMessage:
        """Return the answer, another one, or a message that sends the loop on."""
        return answer

    async def on_answer(self, run: Run, answer: str) -> str:
        """The text the user is to get, before it is recorded. Return it, or a better one."""
        return answer

    async def on_overflow(self, run: Run, error: ContextOverflowError) -> bool:
        """The provider says the request is too long. Return True after having made it shorter."""
        return False

    async def on_end(self, run: Run, result: RunResult) -> None:
        """The run is about to be recorded as finished."""


HOOKS = (
    "on_start", "on_resume", "before_round", "after_decision", "before_tool", "after_tool", "after_round", "before_finish", "on_answer",
    "on_overflow", "on_end",
)  # fmt: skip


class Hooks:
    """The overridden hooks of a list of plug-ins: a hook nobody uses costs one attribute look-up."""

    __slots__ = (*HOOKS,)

    on_start: list[Callable[..., Awaitable[Any]]]
    on_resume: list[Callable[..., Awaitable[Any]]]
    before_round: list[Callable[..., Awaitable[Any]]]
    after_decision: list[Callable[..., Awaitable[Any]]]
    before_tool: list[Callable[..., Awaitable[Any]]]
    after_tool: list[Callable[..., Awaitable[Any]]]
    after_round: list[Callable[..., Awaitable[Any]]]
    before_finish: list[Callable[..., Awaitable[Any]]]
    on_answer: list[Callable[..., Awaitable[Any]]]
    on_overflow: list[Callable[..., Awaitable[Any]]]
    on_end: list[Callable[..., Awaitable[Any]]]

    def __init__(self, plugins: tuple[Any, ...]) -> None:
        for hook in HOOKS:
            setattr(self, hook, [])
        for plugin in plugins:
            for hook in _overridden(plugin.__class__):
                getattr(self, hook).append(getattr(plugin, hook))


@cache
def _overridden(kind: type) -> tuple[str, ...]:
    return tuple(hook for hook in HOOKS if getattr(kind, hook, None) not in (None, getattr(Plugin, hook)))
