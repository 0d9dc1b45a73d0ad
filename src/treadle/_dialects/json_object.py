"""`json`: every reply is one JSON object, a call or the final answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from treadle._dialects.base import Decision, Encoding
from treadle._dialects.constraint import STRING, Alternatives, const, json_format, record, text_for
from treadle._dialects.describe import encode_json
from treadle._dialects.prompts import JSON, JSON_REFORMAT
from treadle._dialects.text import TextDialect, decide_object
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema


class JsonDialect(TextDialect, frozen=True):
    name: ClassVar[str] = "json"
    prompt: ClassVar[str] = JSON
    reformat_prompt: ClassVar[str] = JSON_REFORMAT

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        replies, thought = Alternatives(), text_for(profile)
        for tool in () if must_answer else tools:
            args = replies.parameters(tool)
            replies.add(record(reasoning=thought, type=const("tool_call"), tool_name=const(tool.name), tool_args=args))
        if not must_act or not tools:
            replies.add(record(reasoning=thought, type=const("final_answer"), answer=STRING))
        return Encoding(format=json_format(replies.any_of(), profile, "step"))

    def write(self, decision: Decision) -> str:
        steps: list[dict[str, Any]] = [
            {"reasoning": decision.thought, "type": "tool_call", "tool_name": call.name, "tool_args": call.args}
            for call in decision.calls
        ]
        final = {"reasoning": decision.thought, "type": "final_answer", "answer": decision.answer or ""}
        return "\n".join(encode_json(step) for step in steps or [final])

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        return decide_object(reply, tools, missing="the JSON is neither a tool call nor a final answer")[0]
