"""`brief`: `schema` for tiny models: one object, `{from, action, args}` or `{from, final_answer}`.

Under a billion parameters a thought does harm: the model guesses the answer in it and then believes the guess, whatever
the tools return. It helps to have it write first where the answer comes from: that value decides between a call and an
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from treadle._dialects.base import Decision, Encoding, Prompts
from treadle._dialects.constraint import Alternatives, Schema, const, json_format, record, text_for
from treadle._dialects.describe import encode_json
from treadle._dialects.schema import FINAL, SchemaDialect
from treadle._dialects.text import labelled, observation, safe_name
from treadle._local.dialects.prompts import BRIEF, BRIEF_ANSWER, BRIEF_REFORMAT, BRIEF_TASK, BRIEF_TRY_AGAIN
from treadle._types.messages import Message, TextPart, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import ToolSchema

_MANY_TOOLS = 4
"""With this many tools or more, only three of them are shown in examples."""
TALK, KNOWN, RESULT, TOOL = "small talk", "common knowledge", "result", "tool"


class BriefDialect(SchemaDialect, frozen=True):
    name: ClassVar[str] = "brief"
    prompt: ClassVar[str] = BRIEF
    reformat_prompt: ClassVar[str] = BRIEF_REFORMAT

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        replies, offered = Alternatives(), () if must_answer else tools
        for tool in offered:
            replies.add(record(**{"from": const(TOOL)}, action=const(tool.name), args=replies.parameters(tool)))
        if not must_act or not offered:
            # While a tool could still be called, an answer is one that needs none.
            sources = [TALK, KNOWN] if offered else [RESULT, TALK, KNOWN]
            replies.add(record(**{"from": {"enum": sources}}, final_answer=_not_empty(text_for(profile))))
        return Encoding(format=json_format(replies.any_of(), profile, "step"))

    def system(self, base: str, tools: Sequence[ToolSchema], prompts: Prompts) -> str:
        # With the agent's own tools: a tiny model copies the values of any other example. With several of them: it
        # would prefer the only one it sees.
        shown = tools if len(tools) < _MANY_TOOLS else (tools[0], tools[len(tools) // 2], tools[-1])
        text = prompts.get(f"dialect.{self.name}", self.prompt).replace("{call}", self.example_calls(shown))
        return super().system(base, tools, Prompts({f"dialect.{self.name}": text}))

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        shown = [part for result in results for part in labelled(result)]
        if any(result.error for result in results):
            return observation(*shown, TextPart(BRIEF_TRY_AGAIN))
        asked = (TextPart(BRIEF_TASK + task),) if task else ()
        return observation(*shown, *asked, TextPart(BRIEF_ANSWER.replace("{tool}", safe_name(results[-1]))))

    def write(self, decision: Decision) -> str:
        steps: list[dict[str, Any]] = [
            {"from": TOOL, "action": call.name, "args": call.args} for call in decision.calls
        ]
        return "\n".join(encode_json(step) for step in steps or [{"from": KNOWN, FINAL: decision.answer or ""}])


def _not_empty(text: Schema) -> Schema:
    """A text of at least one character, where lengths are supported: under a constraint a tiny model tends to close a
    string at once."""
    return {**text, "minLength": 1} if "maxLength" in text else text
