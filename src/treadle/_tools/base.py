"""A tool is a value: what the model is told, what is called, and the policy that governs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from treadle._types.events import Artifact
from treadle._types.messages import Content, ToolCall
from treadle._types.request import ToolSchema
from treadle._types.usage import NO_USAGE, Usage

Effect = Literal["pure", "idempotent", "unsafe"]
Approval = Literal["allow", "ask", "deny"]


class ToolResponse(Struct, frozen=True, omit_defaults=True):
    """What a tool may return when a plain value is not enough."""

    observation: Any = ""
    final_answer: bool = False
    """End the run with the observation as the answer."""
    extras: Mapping[str, Any] = {}
    """Python objects for the next tool call only; they never reach the model or the log."""
    artifacts: tuple[Artifact, ...] = ()
    error: bool = False
    usage: Usage = NO_USAGE
    """What the tool itself spent on models (an agent as a tool)."""
    waiting: tuple[ToolCall, ...] = ()
    """Calls inside this one that wait for a person: the run pauses, and the call is made again when it is resumed."""


class ToolContext(Protocol):
    """What a tool learns about the run it serves, when one of its parameters is annotated with this type."""

    @property
    def run_id(self) -> str: ...

    @property
    def call_id(self) -> str: ...

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this call, across crashes and machines."""
        ...

    @property
    def run(self) -> Any:
        """The engine's `RunContext`, for tools that act on the run."""
        ...

    def output(self, text: str) -> None:
        """Show a piece of output while the tool works."""
        ...


class Tool(Struct, frozen=True, kw_only=False):
    """`execute` takes the arguments by name, sync or async; it returns a value, text, a generator of text, or a `ToolResponse`."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Callable[..., Any]
    timeout: float | None = 30.0
    effect: Effect = "unsafe"
    """What may be done about a call that was under way at a crash: `pure` and `idempotent` run again, `unsafe` does not."""
    concurrent: bool = True
    """May run beside other calls of the same reply."""
    approval: Approval = "allow"
    pinned: bool = False
    """Survives tool selection."""
    takes_extras: frozenset[str] | None = None
    """Names of parameters that only extras fill. None: whatever the signature of `execute` accepts, all with `**kwargs`."""
    required_extras: frozenset[str] = frozenset()
    """Those of them without which `execute` cannot be called."""
    context_param: str = ""
    """The parameter of `execute` that receives the `ToolContext`."""
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Turns checked JSON arguments into the Python values the function's annotations ask for."""

    @property
    def schema(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, dict(self.parameters))

    def replace(self, **changes: Any) -> Tool:
        return msgspec.structs.replace(self, **changes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself, so that decorating it takes nothing away."""
        return self.execute(*args, **kwargs)


class ToolOutcome(Struct, frozen=True, omit_defaults=True):
    """What became of one call: always a value, whatever the tool did."""

    content: Content
    error: str = ""
    """Empty, or what failed: unknown_tool | invalid_args | timeout | exception | denied | cancelled | unknown_outcome | rejected."""
    elapsed: float = 0.0
    full: str | None = None
    """The whole text when `content` was cut."""
    artifacts: tuple[Artifact, ...] = ()
    final: bool = False
    extras: Mapping[str, Any] = {}
    usage: Usage = NO_USAGE
    executed: bool = True
    """False when nothing was executed (unknown tool, invalid arguments): safe to try again."""
    waiting: tuple[ToolCall, ...] = ()
    """Calls inside this one that wait for a person."""


class Limits(Struct, frozen=True):
    """The settings that govern every call of a run."""

    timeout: float | None = None
    """Overrides each tool's own time-out."""
    max_chars: int = 12_000
    error_detail: Literal["class", "message", "full"] = "class"
    unknown_args: Literal["prune", "reject", "repair", "schema"] = "reject"
    """`schema` leaves it to the tool's own schema (`additionalProperties`)."""
