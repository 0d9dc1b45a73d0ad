"""One call of one tool, as the engine makes it, with a context that keeps what it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle._tools.base import Limits, ToolOutcome
from treadle._tools.runner import run_call
from treadle._tools.toolkit import Toolkit
from treadle._types.messages import ToolCall


class Context:
    run_id = "run"
    call_id = "call"
    idempotency_key = "run/call"
    run: Any = None

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def output(self, text: str) -> None:
        self.pieces.append(text)


async def called(
    kit: Toolkit,
    call: ToolCall,
    context: Context | None = None,
    *,
    extras: Mapping[str, Any] | None = None,
    **limits: Any,
) -> ToolOutcome:
    """The outcome of a call of a tool of the kit, or of one that it does not have."""
    return await run_call(
        kit.get(call.name),
        call,
        limits=Limits(**limits),
        toolkit=kit,
        extras=extras or {},
        context=context or Context(),
    )
