"""`direct`: `schema` without a thought, for small models: `{action, args}` or `{action, final_answer,
task_successful}`.

A model of one or two billion parameters begins its thought with "I need to find ...", whatever it is asked, and then
calls a tool to find the largest ocean. Asked for the action at once it takes the right one, or none, and writes a
third less.
"""

from __future__ import annotations

from typing import ClassVar

from treadle._dialects.base import Encoding
from treadle._dialects.prompts import Example, ResultFrame
from treadle._dialects.schema import SchemaDialect
from treadle._local.dialects.prompts import DIRECT, DIRECT_EXAMPLES, DIRECT_REFORMAT, SHORT_FRAME
from treadle._types.profile import Profile
from treadle._types.request import ToolSchema


class DirectDialect(SchemaDialect, frozen=True):
    name: ClassVar[str] = "direct"
    prompt: ClassVar[str] = DIRECT
    reformat_prompt: ClassVar[str] = DIRECT_REFORMAT
    worked_examples: ClassVar[tuple[Example, ...]] = DIRECT_EXAMPLES
    frame: ClassVar[ResultFrame] = SHORT_FRAME
    has_thought: ClassVar[bool] = False

    def encode_with_thought(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        """For one reply: with the thought that this dialect does without, where the model does not know what to do."""
        return SchemaDialect().encode(tools, profile, must_answer=must_answer, must_act=must_act)


def short_dialect(profile: Profile) -> str:
    """The text dialect for a model whose replies follow a schema: the smaller it is, the less it should write."""
    if profile.tiny and not profile.decides_in("direct"):
        return "brief"
    return "direct" if profile.grammar or (profile.constrained and profile.small) else "schema"
