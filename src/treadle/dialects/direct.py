"""`direct`: `schema` for a small model: one object `{action, args}` or `{action, final_answer, task_successful}`, without a thought.

A model of one or two billion parameters begins its thought with "I need to find ...", whatever it is asked, and then looks for a tool
that finds the largest ocean. Asked for the action at once it takes the right one, or none; and a third of what it writes is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from treadle.dialects.base import Encoding
from treadle.dialects.constraint import BOOLEAN, STRING, Alternatives, const, json_format, record
from treadle.dialects.prompts import DIRECT, DIRECT_EXAMPLES, DIRECT_GO_ON, DIRECT_REFORMAT, DIRECT_TASK, DIRECT_TRY_AGAIN, FINISH, Example
from treadle.dialects.schema import FINAL, SchemaDialect
from treadle.dialects.text import Said, encode_json, fenced, joined
from treadle.types.messages import Message, TextPart, ToolMessage
from treadle.types.profile import Profile
from treadle.types.request import ToolSchema


class DirectDialect(SchemaDialect, frozen=True):
    name: ClassVar[str] = "direct"
    prompt: ClassVar[str] = DIRECT
    reformat_prompt: ClassVar[str] = DIRECT_REFORMAT
    worked: ClassVar[tuple[Example, ...]] = DIRECT_EXAMPLES

    def encode(self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False) -> Encoding:
        replies = Alternatives()
        for tool in () if must_answer else tools:
            replies.add(record(action=const(tool.name), args=replies.parameters(tool)))
        if not must_act or not tools:
            replies.add(record(action=const(FINAL), final_answer=STRING, task_successful=BOOLEAN))
        return Encoding(format=json_format(replies.any_of(), profile, "step"))

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        ending = DIRECT_TRY_AGAIN if any(result.error for result in results) else DIRECT_GO_ON if task else FINISH
        shown = [part for result in results for part in fenced(result)]
        return joined(*shown, *((TextPart(DIRECT_TASK + task),) if task else ()), TextPart(ending))

    def write(self, said: Said) -> str:
        steps: list[dict[str, Any]] = [{"action": call.name, "args": call.args} for call in said.calls]
        final = {"action": FINAL, FINAL: said.answer or "", "task_successful": said.task_successful is not False}
        return "\n".join(encode_json(step) for step in steps or [final])
