"""Borrowed: a small model that lacks a number or an id takes the one that a tool's description gives as an example. It is told so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from treadle._dialects.reading.shapes import parameter_schema
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.rounds import made_before, send_elsewhere, told, under_grammar
from treadle._plugins.small_models.figures import names
from treadle._tools.base import ToolOutcome
from treadle._types.messages import ToolCall
from treadle._types.request import ToolSchema

OBJECTION = (
    "Tool '{tool}' was not called: \"{value}\" is only the example in the description of {name}. "
    "Take the value from the task or from a result; if it is in neither, call another tool that gives it."
)


class Borrowed(Plugin):
    """Concerns values with a digit (ids, dates), which nobody guesses rightly, and models that decode under our grammar, which are
    small. The next reply is for another tool; a call that is made again after it goes through, as the example may be what is meant."""

    name = "borrowed"

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        tool = run.tool(call.name) if under_grammar(run) else None
        if tool is None or made_before(run, call):
            return call
        for name, value in _examples(call.args, tool.schema):
            if not any(names(text, value) for text in told(run)):
                words = run.prompts.get("borrowed", OBJECTION)
                text = words.replace("{tool}", call.name).replace("{value}", value).replace("{name}", name)
                await send_elsewhere(run, self.name, call.name)
                return ToolOutcome(text, "rejected", executed=False)
        return call


def _examples(args: dict[str, Any], tool: ToolSchema) -> Iterator[tuple[str, str]]:
    """Arguments whose value stands in the description of their parameter."""
    for name, value in args.items():
        about = parameter_schema(tool, name)
        if (
            isinstance(value, str)
            and re.search(r"\d", value)
            and "enum" not in about
            and names(str(about.get("description", "")), value)
        ):
            yield name, value
