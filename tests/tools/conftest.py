from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tools.calls import Context, called
from treadle._tools.base import ToolOutcome
from treadle._tools.toolkit import Toolkit
from treadle._types.messages import ToolCall


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def acall(context: Context) -> Callable[..., Any]:
    async def acall(
        item: object, args: dict[str, Any] | None = None, *, extras: Mapping[str, Any] | None = None, **limits: Any
    ) -> ToolOutcome:
        kit = Toolkit([item])
        return await called(kit, ToolCall("c1", kit.names[0], args or {}), context, extras=extras, **limits)

    return acall


@pytest.fixture
def call(acall: Callable[..., Any]) -> Callable[..., ToolOutcome]:
    """Runs one call of one tool and gives its outcome."""

    def call(*args: Any, **kwargs: Any) -> ToolOutcome:
        return asyncio.run(acall(*args, **kwargs))

    return call
