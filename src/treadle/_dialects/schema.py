"""`schema`: one object, `{thought, action, args}` or `{thought, action, final_answer, task_successful}`.

Where the model supports it, decoding is constrained to these objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from treadle._dialects.base import Decision, Encoding
from treadle._dialects.constraint import BOOLEAN, STRING, Alternatives, const, json_format, record, text_for
from treadle._dialects.describe import encode_json
from treadle._dialects.prompts import SCHEMA, SCHEMA_REFORMAT
from treadle._dialects.text import TextDialect, decide_object
from treadle._types.profile import Profile
from treadle._types.request import DecisionNames, Reply, ToolSchema

FINAL = "final_answer"
DECISION_AFTER = '"action": "'
"""As the constraint has it written."""


class SchemaDialect(TextDialect, frozen=True):
    name: ClassVar[str] = "schema"
    prompt: ClassVar[str] = SCHEMA
    reformat_prompt: ClassVar[str] = SCHEMA_REFORMAT
    has_thought: ClassVar[bool] = True
    """Whether a thought stands before the action."""
    answers: ClassVar[tuple[str, ...]] = (FINAL,)
    """The actions that call no tool."""

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        replies = self.alternatives(tools, profile, must_answer=must_answer, must_act=must_act)
        encoding = Encoding(format=json_format(replies.any_of(), profile, "step"))
        if not tools or must_answer or must_act or not profile.decides_in(self.name):
            return encoding
        names = DecisionNames(self.answers, tuple(tool.name for tool in tools))
        return msgspec.structs.replace(encoding, decision_after=DECISION_AFTER, decision_names=names)

    def alternatives(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool, must_act: bool
    ) -> Alternatives:
        """The objects that a reply may be."""
        replies = Alternatives()
        thought = {"thought": text_for(profile)} if self.has_thought else {}
        for tool in () if must_answer else tools:
            replies.add(record(**thought, action=const(tool.name), args=replies.parameters(tool)))
        if not must_act or not tools:
            replies.add(record(**thought, action=const(FINAL), final_answer=STRING, task_successful=BOOLEAN))
        return replies

    def write(self, decision: Decision) -> str:
        thought = {"thought": decision.thought} if self.has_thought else {}
        steps: list[dict[str, Any]] = [{**thought, "action": call.name, "args": call.args} for call in decision.calls]
        final = {
            **thought,
            "action": FINAL,
            FINAL: decision.answer or "",
            "task_successful": decision.task_successful is not False,
        }
        return "\n".join(encode_json(step) for step in steps or [final])

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        missing = "the JSON names neither an action nor a final answer"
        decision, fields = decide_object(reply, tools, missing=missing)
        if decision.answer is None or not fields:
            return decision
        return msgspec.structs.replace(decision, task_successful=_flag(fields.get("task_successful")))


def _flag(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None
