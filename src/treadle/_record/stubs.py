"""Tools of a recorded program that are not here: a stub asks a person, whose words are the result.

It asks as any tool does that needs approval, so a run waits for the answer however long that takes, and whoever may
decide about its calls can give it: the note of the approval is the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle._tools.base import Tool, ToolContext, ToolResponse
from treadle._types.request import ToolSchema

HOW = "allow it with the tool's result as the note (yes: RESULT); the program that has this tool is not here"


def stub(schema: ToolSchema) -> Tool:
    """A tool with this schema whose result is the note of the approval."""

    async def execute(context: ToolContext[Any], **arguments: Any) -> ToolResponse:
        decision = context.run.state.approvals.get(context.call_id)
        if decision is None or not decision.note:
            return ToolResponse(f"no result was given for {schema.name}: {HOW}", error=True)
        return ToolResponse(decision.note)

    return Tool(
        schema.name,
        schema.description or f"The tool {schema.name} of a recorded program.",
        schema.parameters,
        execute,
        effect="idempotent",
        approval="ask",
        context_param="context",
        takes_extras=frozenset(),
    )


def stubs_for(schemas: Iterable[ToolSchema], known: Iterable[str]) -> list[Tool]:
    """Stubs for those that are not known here."""
    names = set(known)
    return [stub(schema) for schema in schemas if schema.name not in names]
