"""`direct`: `schema` for a small model: one object `{action, args}` or `{action, final_answer, task_successful}`, without a thought.

A model of one or two billion parameters begins its thought with "I need to find ...", whatever it is asked, and then looks for a tool
that finds the largest ocean. Asked for the action at once it takes the right one, or none; and a third of what it writes is saved.
"""

from __future__ import annotations

from typing import ClassVar

from treadle._dialects.prompts import DIRECT, DIRECT_EXAMPLES, DIRECT_REFORMAT, SHORT_FRAME, Example, Frame
from treadle._dialects.schema import SchemaDialect


class DirectDialect(SchemaDialect, frozen=True):
    name: ClassVar[str] = "direct"
    prompt: ClassVar[str] = DIRECT
    reformat_prompt: ClassVar[str] = DIRECT_REFORMAT
    worked: ClassVar[tuple[Example, ...]] = DIRECT_EXAMPLES
    frame: ClassVar[Frame] = SHORT_FRAME
    thinks: ClassVar[bool] = False
