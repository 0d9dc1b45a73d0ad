from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from treadle._tools.base import Limits, Tool, ToolOutcome
from treadle._tools.runner import run_call
from treadle._tools.toolkit import Toolkit
from treadle._types.messages import ToolCall


class Context:
    """A `ToolContext` that keeps what it is shown."""

    run_id = "run"
    call_id = "call"
    idempotency_key = "run/call"
    run = None

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def output(self, text: str) -> None:
        self.pieces.append(text)


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def acall(context: Context) -> Callable[..., Any]:
    async def acall(
        item: object,
        args: dict[str, Any] | None = None,
        *,
        extras: Mapping[str, Any] | None = None,
        name: str = "",
        **limits: Any,
    ) -> ToolOutcome:
        kit = Toolkit([item])
        tool: Tool | None = kit.get(name) if name else next(iter(kit))
        call = ToolCall("c1", name or kit.names[0], args or {})
        return await run_call(tool, call, limits=Limits(**limits), toolkit=kit, extras=extras or {}, context=context)

    return acall


@pytest.fixture
def call(acall: Callable[..., Any]) -> Callable[..., ToolOutcome]:
    """Runs one call of one tool and gives its outcome."""

    def call(*args: Any, **kwargs: Any) -> ToolOutcome:
        return asyncio.run(acall(*args, **kwargs))

    return call
