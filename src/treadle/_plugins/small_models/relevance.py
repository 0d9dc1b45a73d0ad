"""Which tool a question is for, judged by the words they share: no model is asked, so only a clear case counts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from treadle._dialects.reading.shapes import parameter_schema, properties_of
from treadle._types.request import ToolSchema

_SHARED = 2
_WORD = re.compile(r"[^\W\d_]{4,}")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about also been both does each from give have here into just know like long made make many more most much name need only please "
        "some such tell than that their them then there these they this those want were what when where which will with would your",
    )
)


def tool_for(question: str, tools: Iterable[ToolSchema]) -> str:
    """The tool whose description has most words of the question, two at least; empty when there is none."""
    asked = _words(question)
    shared, name = max(
        ((len(asked & _words(_described(tool))), tool.name) for tool in tools),
        key=lambda found: found[0],
        default=(0, ""),
    )
    return name if shared >= _SHARED else ""


def _described(tool: ToolSchema) -> str:
    about = (f"{name} {parameter_schema(tool, name).get('description', '')}" for name in properties_of(tool))
    return " ".join((tool.name, tool.description, *about)).replace("_", " ")


def _words(text: str) -> set[str]:
    """Without their plural, so that "days" is "day"."""
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())} - _COMMON
