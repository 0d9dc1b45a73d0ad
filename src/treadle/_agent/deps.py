"""What a program gives its runs: a value for tools, plug-ins and instructions that no model and no log ever sees."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from treadle._engine.generics import NO_DEPS
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._engine.context import RunContext

Instructions = str | Callable[["RunContext[Any]"], str | Awaitable[str]]
"""Text for the system prompt, or a function of the run (its `deps`, its user) that gives it when the run starts."""


def deps_for(given: Any, default: Any, parent: RunContext[Any] | None, kind: type | None) -> Any:
    """The value of a run: the one it is given, else that of the run it is inside of, else the agent's own."""
    if given is not NO_DEPS:
        _require(given, kind)
        return given
    if parent is not None:
        from treadle._engine.context import execution_of

        inherited = execution_of(parent).deps
        if inherited is not NO_DEPS and (default is NO_DEPS or _fits(inherited, kind)):
            _require(inherited, kind)
            return inherited
    if default is not NO_DEPS:
        _require(default, kind)
    return default


def require_deps(needs: Mapping[str, str], how: str) -> None:
    """Called where there are none: a tool that needs them must not find that out in the middle of a run."""
    for name, kind in needs.items():
        raise ConfigError(f"tool {name!r} needs deps ({kind}), and this run has none: pass them with {how}")


def _require(value: Any, kind: type | None) -> None:
    if not _fits(value, kind):
        assert kind is not None
        raise ConfigError(f"deps must be of the agent's deps_type {kind.__qualname__}, not {type(value).__qualname__}")


def _fits(value: Any, kind: type | None) -> bool:
    try:
        return kind is None or isinstance(value, kind)
    except TypeError:  # a protocol that cannot be checked at run time, or a generic type
        return True


async def text_for(part: Instructions, run: RunContext[Any]) -> str:
    """Instructions as text: what their function gives for this run."""
    if isinstance(part, str):
        return part
    text: Any = part(run)
    if inspect.isawaitable(text):
        text = await text
    if not isinstance(text, str):
        name = getattr(part, "__name__", repr(part))
        raise ConfigError(f"instructions must be text: the function {name} gave {type(text).__name__}")
    return text
