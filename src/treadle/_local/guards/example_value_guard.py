"""ExampleValueGuard: refuses a call in which a small model uses the example of a tool's description as the value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from treadle._dialects.reading.shapes import parameter_schema
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._local.guards.numbers_and_ids import is_calculated, mentions
from treadle._local.guards.support import (
    is_insisted_on,
    prompt,
    require_other_tool,
    small_under_grammar,
    source_texts,
)
from treadle._safety.beside import read_beside
from treadle._tools.base import ToolOutcome
from treadle._types.messages import ToolCall
from treadle._types.request import ToolSchema

OBJECTION = (
    "Tool '{tool}' was not called: \"{value}\" is only the example in the description of {name}. "
    "Take the value from the task or from a result; if it is in neither, call another tool that gives it."
)

_SHORTEST, _LONGEST_TEXT, _LONGEST_SUM = 7, 4000, 200
"""Letters that two texts do not have in common by chance; and of a text and a sum, so many are looked at."""


class ExampleValueGuard(Plugin):
    """Checks values with a digit (ids, dates). The same call goes through when the model insists on it."""

    name = "example_value_guard"
    harmless = True
    advisory = True

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        tool = run.tool(call.name) if small_under_grammar(run) else None
        if tool is None or is_insisted_on(run, call):
            return call
        sources = tuple(source_texts(run))
        for name, value in _examples(call.args, tool.schema):
            if not await read_beside(sum(map(len, sources)), any, (_has(text, value) for text in sources)):
                objection = prompt(run, "example_value", OBJECTION)
                objection = objection.replace("{tool}", call.name).replace("{value}", value).replace("{name}", name)
                await require_other_tool(run, self.name, call.name)
                return ToolOutcome(objection, "rejected", executed=False)
        return call


def _examples(args: dict[str, Any], tool: ToolSchema) -> Iterator[tuple[str, str]]:
    """The arguments, by name, whose value is in the description of their parameter."""
    for name, value in args.items():
        schema = parameter_schema(tool, name)
        if (
            isinstance(value, str)
            and re.search(r"\d", value)
            and "enum" not in schema
            and _has(str(schema.get("description", "")), value)
        ):
            yield name, value


def _has(text: str, value: str) -> bool:
    """Return whether a text has this word, or of a sum the better part: `(2 + 3) * 4 / 5` in `(2 + 3) * 4 / 5 * 12`."""
    if mentions(text, value):
        return True
    if not is_calculated(value):
        return False
    from difflib import SequenceMatcher  # for small models only

    said, used = ("".join(part.split()) for part in (text[:_LONGEST_TEXT], value[:_LONGEST_SUM]))
    same = SequenceMatcher(None, said, used, autojunk=False).find_longest_match()
    return same.size >= max(_SHORTEST, len(used) / 2) and is_calculated(used[same.b : same.b + same.size])
