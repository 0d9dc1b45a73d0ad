"""Paging: when a result was cut, the model gets a tool that reads on in the full text, which the log has kept."""

from __future__ import annotations

import msgspec

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.tool_selection import offer_also
from treadle._tools.base import Tool, ToolContext, ToolOutcome
from treadle._tools.results import cut
from treadle._types.errors import ToolError
from treadle._types.events import ToolDone
from treadle._types.messages import TextPart, ToolCall, text_of

READ_MORE = "read_more"
_HEADER_CHARS = 120
"""For the line above a page."""


async def _read_more(context: ToolContext, result: str, offset: int = 0) -> str:
    run: RunContext = context.run
    text = full_text(run, result)
    if text is None:
        raise ToolError(f"there is no result {result[:80]!r}: give the id that stands at the end of the cut result")
    size = max(run.limits.max_chars - _HEADER_CHARS, 1)
    page = text[offset : offset + size]
    end = offset + len(page)
    more = f"; next: offset={end}" if end < len(text) else "; this is the end"
    return f"[characters {offset} to {end} of {len(text)}{more}]\n{page}"


class Paging(Plugin):
    """The tool is offered from the first cut on."""

    name = "paging"
    harmless = True
    tools = (
        Tool(
            READ_MORE,
            "Read on in a result that was cut.",
            {
                "type": "object",
                "properties": {
                    "result": {"type": "string", "description": "The id given at the end of the cut result."},
                    "offset": {"type": "integer", "minimum": 0, "description": "The character to start from."},
                },
                "required": ["result"],
            },
            _read_more,
            effect="pure",
            pinned=True,
            context_param="context",
        ),
    )

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        if outcome.full is None or READ_MORE in run.toolkit:
            return outcome
        hint = f'\n[cut; the whole has {len(outcome.full)} characters: {READ_MORE}(result="{call.id}", offset=...)]'
        text = cut(outcome.full, max(run.limits.max_chars - len(hint), 0)) + hint
        if len(text) > run.limits.max_chars:
            return outcome
        if isinstance(outcome.content, str):
            return msgspec.structs.replace(outcome, content=text)
        images = tuple(part for part in outcome.content if not isinstance(part, TextPart))
        return msgspec.structs.replace(outcome, content=(TextPart(text), *images))

    async def after_round(self, run: RunContext) -> None:
        if run.state.spending.counters.truncated_observations and READ_MORE not in run.toolkit:
            await offer_also(run, [READ_MORE], "a result was cut")


def full_text(run: RunContext, call_id: str) -> str | None:
    """The result of a call before it was cut, from the log; None when there is no such call."""
    for record in reversed(run.records):
        event = record.event
        if isinstance(event, ToolDone) and event.call_id == call_id:
            return event.full if event.full is not None else text_of(event.content)
    return None
