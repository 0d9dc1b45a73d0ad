"""`array`: every reply is a JSON array of calls; one call of a special name completes the task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from treadle._dialects.base import Decision, Encoding
from treadle._dialects.constraint import STRING, Alternatives, const, json_format, record
from treadle._dialects.describe import encode_json
from treadle._dialects.prompts import ARRAY, ARRAY_REFORMAT
from treadle._dialects.reading.reply import by_name, read
from treadle._dialects.reading.shapes import ParsedCall, answer_in, as_text
from treadle._dialects.text import TextDialect, decide, is_cut
from treadle._dialects.watching.base import Watcher
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema

COMPLETE_TASK = "__complete_task__"
MAX_CALLS = 8


class ArrayDialect(TextDialect, frozen=True):
    completion: str = COMPLETE_TASK
    """The name whose call completes the task."""

    name: ClassVar[str] = "array"
    prompt: ClassVar[str] = ARRAY
    reformat_prompt: ClassVar[str] = ARRAY_REFORMAT

    def fill(self, text: str) -> str:
        return text.replace("{complete}", self.completion)

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        calls = Alternatives()
        for tool in () if must_answer else tools:
            calls.add(record(name=const(tool.name), arguments=calls.parameters(tool)))
        if not must_act or not tools:
            calls.add(record(name=const(self.completion), arguments=record(answer=STRING)))
        array = calls.list_of(1 if must_answer else MAX_CALLS)
        if profile.grammar:
            return Encoding(format=json_format(array, profile, "calls"))
        if profile.json_schema:  # providers want an object at the root: the array goes into one
            definitions: Any = array.pop("$defs", None)
            wrapped = record(calls=array)
            schema = {**wrapped, "$defs": definitions} if definitions else wrapped
            return Encoding(format=json_format(schema, profile, "calls"))
        return Encoding()

    def watch(self, *, tools: bool) -> Watcher:
        from treadle._dialects.watching.json_fields import JsonFields  # only for runs that are watched

        return JsonFields(self.completion)

    def write(self, decision: Decision) -> str:
        calls: list[dict[str, Any]] = [{"name": call.name, "arguments": call.args} for call in decision.calls]
        return encode_json(calls or [{"name": self.completion, "arguments": {"answer": decision.answer or ""}}])

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        completion = ToolSchema(self.completion, "", {"type": "object", "properties": {"answer": STRING}})
        reading = read(reply.text, by_name((*tools, completion)), cut=is_cut(reply))
        done = [call for call in reading.calls if call.name == self.completion]
        rest = tuple(call for call in reading.calls if call.name != self.completion)
        answer = reading.answer
        if done and done[0].problem:
            rest = reading.calls
        elif done:
            answer = _answer(done[0])
        missing = "expected a JSON array of calls" + ("" if reading.has_json else ", and there is no JSON in it")
        decision = decide(msgspec.structs.replace(reading, calls=rest), reply, tools, answer=answer, missing=missing)
        completes = bool(done and decision.calls and not done[0].problem)
        return msgspec.structs.replace(decision, completes=True) if completes else decision


def _answer(completion: ParsedCall) -> str:
    """The answer inside a completion; empty when it only says that the task is done."""
    texts = [text for value in completion.args.values() if (text := as_text(value))]
    return answer_in(completion.args, {}) or (texts[0] if texts else "")
