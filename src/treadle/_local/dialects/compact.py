"""`compact`: `direct` for a model that was trained on it: the same objects, with hardly a word of explanation.

An adapter (`lab/README.md`) has learnt the format and when to call, so rules and examples are left out: a prompt of a
hundred tokens in place of seven hundred, which a slow machine has to read before it can begin. Every change of what
this dialect writes makes the adapters useless: `tests/local/dialects/test_compact.py` holds it. What needs no tool is
not answered here: the model without its adapter does that, with all that it knows, in a request without tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from treadle._dialects.base import Decision, Encoding
from treadle._dialects.constraint import Alternatives, const, json_format, record
from treadle._dialects.describe import encode_json
from treadle._dialects.prompts import Example
from treadle._dialects.reading.extract import strict
from treadle._dialects.reading.reply import by_name
from treadle._dialects.schema import FINAL, SchemaDialect
from treadle._dialects.text import labelled, observation
from treadle._local.dialects.prompts import COMPACT, DIRECT_REFORMAT
from treadle._types.messages import Message, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema

ADAPTER_FORMAT = "101e98e2"
"""A check sum of what this dialect writes; an adapter names the one that it was trained on."""
NO_TOOL = "no_tool"
"""The action that leaves the words of an answer to the model without its adapter."""


class CompactDialect(SchemaDialect, frozen=True):
    name: ClassVar[str] = "compact"
    prompt: ClassVar[str] = COMPACT
    reformat_prompt: ClassVar[str] = DIRECT_REFORMAT
    worked_examples: ClassVar[tuple[Example, ...]] = ()
    has_thought: ClassVar[bool] = False
    answers: ClassVar[tuple[str, ...]] = (*SchemaDialect.answers, NO_TOOL)

    def alternatives(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool, must_act: bool
    ) -> Alternatives:
        replies = super().alternatives(tools, profile, must_answer=must_answer, must_act=must_act)
        if not must_answer and not must_act:
            replies.add(record(action=const(NO_TOOL)))
        return replies

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        encoding = super().encode(tools, profile, must_answer=must_answer, must_act=must_act)
        return msgspec.structs.replace(encoding, tuned=True)

    def encode_after_text(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        """The same after a long text. An answer about one is left to the model without its adapter as well: an adapter
        has learnt to call tools and to pass on what they say, and would copy the text where a summary is wanted. It
        says that it would answer now, and its words are not asked for."""
        if must_act or NO_TOOL in by_name(tools):
            return self.encode(tools, profile, must_answer=must_answer, must_act=must_act)
        calls = () if must_answer else tools
        replies = super().alternatives(calls, profile, must_answer=False, must_act=True) if calls else Alternatives()
        for action in (FINAL, NO_TOOL):
            replies.add(record(action=const(action)))
        return Encoding(format=json_format(replies.any_of(), profile, "step"), tuned=True)

    def write(self, decision: Decision) -> str:
        return encode_json({"action": NO_TOOL}) if decision.own_words else super().write(decision)

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        if strict(reply.text) in ({"action": FINAL}, {"action": NO_TOOL}) and NO_TOOL not in by_name(tools):
            return Decision(answer="", own_words=True)
        return super().decode(reply, tools)

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        return observation(*(part for result in results for part in labelled(_plain(result))))


def _plain(result: ToolMessage) -> ToolMessage:
    """A failure without the engine's own words before it: the label says the same."""
    if not result.error or not isinstance(result.content, str):
        return result
    return msgspec.structs.replace(result, content=result.content.removeprefix(f"Tool '{result.name}' failed: "))
