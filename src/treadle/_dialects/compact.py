"""`compact`: `direct` for a model that was trained on it: the same objects, with hardly a word of explanation.

An adapter (`training/`) has learnt the format and when to call, so rules and examples are left out: a prompt of a
hundred tokens in place of seven hundred, which a slow machine has to read before it can begin. Every change of what
this dialect writes makes the adapters useless: `tests/dialects/test_compact.py` holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from treadle._dialects.prompts import COMPACT, DIRECT_REFORMAT, Example
from treadle._dialects.schema import SchemaDialect
from treadle._dialects.text import labelled, observation
from treadle._types.messages import Message, ToolMessage


class CompactDialect(SchemaDialect, frozen=True):
    name: ClassVar[str] = "compact"
    prompt: ClassVar[str] = COMPACT
    reformat_prompt: ClassVar[str] = DIRECT_REFORMAT
    worked_examples: ClassVar[tuple[Example, ...]] = ()
    has_thought: ClassVar[bool] = False

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        return observation(*(part for result in results for part in labelled(_plain(result))))


def _plain(result: ToolMessage) -> ToolMessage:
    """A failure without the engine's own words before it: the label says the same."""
    if not result.error or not isinstance(result.content, str):
        return result
    return msgspec.structs.replace(result, content=result.content.removeprefix(f"Tool '{result.name}' failed: "))
