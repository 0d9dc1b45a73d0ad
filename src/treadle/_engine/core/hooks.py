"""The hooks of a list of plug-ins, called in list order.

A plug-in that fails is logged and ignored, except before a tool call: there, a hook that fails has refused (see
`acting.execute`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any

from treadle._types.errors import GuardrailError, JournalError, LimitError, TreeError
from treadle._types.messages import ToolCall

HOOKS = (
    "on_start", "on_resume", "before_round", "beside_first_request", "after_decision", "before_tool",
    "on_approval", "on_approvals", "after_tool", "after_round", "before_finish", "on_answer", "on_overflow", "on_end",
)  # fmt: skip
IS_DEFAULT = "__treadle_default_hooks__"
"""Marks the class whose hooks do nothing."""


class Pause(Exception):
    """The run stops here, durably, until a person has answered. `calls` are what the person is asked about, `why` is
    the reason of each by its id."""

    def __init__(self, reason: str, calls: Sequence[ToolCall] = (), why: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.calls = tuple(calls)
        self.why = dict(why or {})

    def reasons(self) -> dict[str, str]:
        """Why each call waits."""
        return {call.id: self.why.get(call.id, str(self)) for call in self.calls}


def raise_together(pauses: Sequence[Pause]) -> None:
    """Several calls wait: one pause that names them all. Nothing is raised when there is none."""
    if pauses:
        why = {call_id: reason for pause in pauses for call_id, reason in pause.reasons().items()}
        raise Pause(str(pauses[0]), [call for pause in pauses for call in pause.calls], why)


PASSED_ON = (Pause, LimitError, JournalError, GuardrailError, TreeError)
"""What a plug-in may raise on purpose."""


class Hooks:
    """The overridden hooks of a list of plug-ins: a hook nobody uses costs one attribute look-up."""

    __slots__ = (*HOOKS, "acts_alone", "has_policy")

    acts_alone: bool
    """Whether a plug-in wants to see what each call that acts has done: such calls run one at a time."""

    has_policy: bool
    """Whether a plug-in decides about calls. One that is `advisory` only helps a model along."""

    on_start: list[Callable[..., Awaitable[Any]]]
    on_resume: list[Callable[..., Awaitable[Any]]]
    before_round: list[Callable[..., Awaitable[Any]]]
    beside_first_request: list[Callable[..., Awaitable[Any]]]
    after_decision: list[Callable[..., Awaitable[Any]]]
    before_tool: list[Callable[..., Awaitable[Any]]]
    on_approval: list[Callable[..., Awaitable[Any]]]
    on_approvals: list[Callable[..., Awaitable[Any]]]
    after_tool: list[Callable[..., Awaitable[Any]]]
    after_round: list[Callable[..., Awaitable[Any]]]
    before_finish: list[Callable[..., Awaitable[Any]]]
    on_answer: list[Callable[..., Awaitable[Any]]]
    on_overflow: list[Callable[..., Awaitable[Any]]]
    on_end: list[Callable[..., Awaitable[Any]]]

    def __init__(self, plugins: Sequence[Any]) -> None:
        for hook in HOOKS:
            setattr(self, hook, [])
        self.has_policy = self.acts_alone = False
        for plugin in plugins:
            self.acts_alone = self.acts_alone or getattr(plugin, "acts_alone", False)
            overridden = _overridden(plugin.__class__)
            for hook in overridden:
                getattr(self, hook).append(getattr(plugin, hook))
            if "before_tool" in overridden and not getattr(plugin, "advisory", False):
                self.has_policy = True


@cache
def _overridden(kind: type) -> tuple[str, ...]:
    """The hooks that a class or one of its bases defines, those of the base class of all plug-ins aside."""
    own = {name for base in kind.__mro__ if IS_DEFAULT not in vars(base) for name in vars(base)}
    return tuple(hook for hook in HOOKS if hook in own)


async def run_hooks(hooks: Sequence[Callable[..., Awaitable[Any]]], context: Any, *args: Any) -> None:
    """Call hooks whose results do not matter."""
    for hook in hooks:
        try:
            await hook(context, *args)
        except PASSED_ON:
            raise
        except Exception:
            report_failure(hook)


def report_failure(hook: Any) -> None:
    """Log the exception being handled: the run continues without this plug-in."""
    from treadle._safety.logs import get_logger, log_handled

    log_handled(get_logger(), "plug-in %s failed in %s and is ignored", plugin_name(hook), hook.__name__)


def plugin_name(hook: Any) -> str:
    """Whose hook this is."""
    plugin = getattr(hook, "__self__", None)
    return getattr(plugin, "name", "") or type(plugin).__name__


def overrides(plugin: object, hook: str) -> bool:
    """Return whether a plug-in has a hook of its own by this name."""
    return hook in _overridden(type(plugin))


def concerns_loop(hook: Any) -> bool:
    """Return whether the plug-in has nothing to do in a run that is made of other runs."""
    return bool(getattr(getattr(hook, "__self__", None), "loop_only", False))
