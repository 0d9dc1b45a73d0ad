"""Whether one of the tools is for what was asked, by the model's own probability of a yes.

A model that wants a tool may want one that is not there. Its choice among those that are there says nothing then: it is
asked about them first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle._types.messages import Message, SystemMessage, UserMessage
from treadle._types.request import OutputFormat, ToolSchema

SYSTEM = "Tools:\n{tools}\n\nYou say whether one of these tools does, or tells, what the user asks for."
ASKED = (
    '{question}\n\nIs there a tool for exactly this? Reply with a JSON object: {{"fits": true}} or {{"fits": false}}'
)
FORMAT = OutputFormat(
    "schema",
    {
        "type": "object",
        "properties": {"fits": {"type": "boolean"}},
        "required": ["fits"],
        "additionalProperties": False,
    },
    name="fits",
)
AFTER = '"fits": '
MAX_TOKENS = 12


def about_tools(tools: Sequence[ToolSchema], question: str) -> list[Message]:
    """The conversation in which it is asked."""
    lines = (f"- {tool.name}({', '.join(tool.parameters.get('properties', ()))}): {tool.description}" for tool in tools)
    return [SystemMessage(SYSTEM.format(tools="\n".join(lines))), UserMessage(ASKED.format(question=question))]


def fit_probability(options: Mapping[str, float]) -> float | None:
    """How probable a yes is beside a no; None where the model told neither."""
    yes, no = (
        sum(probability for text, probability in options.items() if _begins(text, word)) for word in ("true", "false")
    )
    return yes / (yes + no) if yes + no > 0 else None


def _begins(text: str, word: str) -> bool:
    start = text.strip()
    return bool(start) and (word.startswith(start) or start.startswith(word))
