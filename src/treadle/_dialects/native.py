"""`native`: tools go into the provider's own parameter and calls come back structured.

Local models often write the call into their text all the same; a reply that is nothing but a call, or that ends in a
model's own call markup, is read as one. An answer that merely shows JSON or markup stays an answer
(`reading/placement.py`), and the text of a model whose native calls are known to work is never read for calls at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import msgspec
from msgspec import Struct

from treadle._dialects.base import Decision, Encoding, Prompts
from treadle._dialects.prompts import NATIVE_REFORMAT
from treadle._dialects.reading.extract import CUT_OFF, encodable, strict, unfenced
from treadle._dialects.reading.placement import IN_CODE_BLOCK
from treadle._dialects.reading.reply import Reading, by_name, names_existing_tool, read, read_arguments
from treadle._dialects.reading.shapes import Tools, clean_name, doubted
from treadle._dialects.reading.thinking import split_thinking
from treadle._dialects.text import is_cut, to_tool_calls
from treadle._dialects.watching.base import Watcher
from treadle._safety.data import repeats_a_name
from treadle._types.messages import AssistantMessage, Message, ToolCall, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import RawCall, Reply, ToolSchema


class NativeDialect(Struct, frozen=True):
    text_calls: bool = True
    """Whether calls in the text of a reply count: not from a model whose native calls are known to work."""

    name: ClassVar[str] = "native"
    native: ClassVar[bool] = True

    def system(self, base: str, tools: Sequence[ToolSchema], prompts: Prompts) -> str:
        return "\n\n".join(text for text in (base.strip(), prompts.get("dialect.native", "").strip()) if text)

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        # The tools stay in the request: removing them would break the cached prefix, and some providers refuse earlier
        # calls without them.
        return Encoding(tools=tools, tool_choice="none" if must_answer and tools else "auto")

    def assistant(self, message: AssistantMessage, decision: Decision | None = None) -> AssistantMessage:
        if message.dialect == self.name:
            return message
        text = message.text if decision is None else decision.thought if decision.calls else decision.answer or ""
        return AssistantMessage(text, message.calls, message.reasoning)

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        return results

    def watch(self, *, tools: bool) -> Watcher:
        from treadle._dialects.watching.prose import Manner, Prose  # only for runs that are watched

        return Prose(Manner(), tools=tools)

    def reformat(self, problem: str, prompts: Prompts) -> str:
        return prompts.get("dialect.native.reformat", NATIVE_REFORMAT).replace("{problem}", problem.rstrip("."))

    def decode(self, reply: Reply, tools: Sequence[ToolSchema]) -> Decision:
        tools_by_name = by_name(tools)
        if reply.calls:
            thinking, text = split_thinking(encodable(reply.text)) if reply.text else ("", "")
            calls, repaired = _native_calls(reply.calls, tools_by_name, is_cut(reply))
            return Decision(text or thinking or reply.reasoning, calls, repaired=repaired)
        if not self.text_calls:
            thinking, text = split_thinking(encodable(reply.text))
            return _answer(text, thinking or reply.reasoning, reply)
        return _from_text(read(reply.text, tools_by_name, cut=is_cut(reply)), reply, tools_by_name)


def _native_calls(raw: Sequence[RawCall], tools: Tools, cut: bool) -> tuple[tuple[ToolCall, ...], bool]:
    calls: list[ToolCall] = []
    used: set[str] = {call.id for call in raw}
    seen: set[str] = set()
    any_repaired = False
    for index, call in enumerate(raw):
        if not cut and call.id and call.id not in seen and (args := _plain_arguments(call, tools)) is not None:
            seen.add(call.id)
            calls.append(ToolCall(call.id, call.name, args))
            continue
        parsed = read_arguments(call.arguments, clean_name(encodable(call.name), tools), tools, cut=cut)
        call_id = call.id if call.id and call.id not in seen else _unused_id(index, used)
        seen.add(call_id)
        used.add(call_id)
        any_repaired = any_repaired or bool(parsed.repaired and not parsed.problem)
        raw_text = call.arguments if parsed.problem or parsed.repaired else ""
        calls.append(ToolCall(call_id, parsed.name, parsed.args, raw_text, parsed.problem, parsed.repaired))
    return tuple(calls), any_repaired


_decode = msgspec.json.Decoder(dict[str, Any]).decode


def _plain_arguments(call: RawCall, tools: Tools) -> dict[str, Any] | None:
    """The arguments of a correct call (an existing tool, valid JSON, its own parameters), which is the usual case."""
    tool = tools.get(call.name)
    if tool is None:
        return None
    try:
        args = _decode(call.arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    if not args or not args.keys() <= tool.parameters.get("properties", {}).keys():
        return None
    return None if repeats_a_name(call.arguments, len(args)) else args


def _unused_id(index: int, used: set[str]) -> str:
    call_id = f"call_{index}"
    while call_id in used:
        call_id += "_"
    return call_id


def _from_text(reading: Reading, reply: Reply, tools: Tools) -> Decision:
    thought = reading.thinking or reply.reasoning
    known = all(call.name in tools for call in reading.calls)
    only_calls = reading.only_json and bool(reading.calls) and (known or (bool(tools) and _calls_a_tool(reading.text)))
    is_call = reading.markup or only_calls
    if is_call and any(not call.problem for call in reading.calls):
        fenced = not reading.markup and reading.text.startswith(("```", "~~~"))
        read_calls = doubted(reading.calls, IN_CODE_BLOCK if fenced else "")
        calls = tuple(msgspec.structs.replace(call, from_text=True) for call in to_tool_calls(read_calls, reading.text))
        repaired = reading.repaired or any(bool(call.repaired) for call in calls)
        return Decision(reading.before or thought, calls, repaired=repaired)
    if is_call or (reading.problem and reading.only_json and names_existing_tool(reading.text, tools)):
        problem = CUT_OFF if is_cut(reply) else next((call.problem for call in reading.calls), reading.problem)
        return Decision(reading.before or thought, problem=f"the tool call is not complete or not readable: {problem}")
    return _answer(reading.text, thought, reply)


def _calls_a_tool(text: str) -> bool:
    """Return whether it is nothing but a call in the very form that models are trained on. Then it is one even if there
    is no such tool: the model is told so, and nobody is given it for an answer."""
    found = strict(unfenced(text))
    calls = cast("list[Any]", found) if isinstance(found, list) else [found]
    return bool(calls) and all(map(_has_the_form_of_a_call, calls))


def _has_the_form_of_a_call(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    call = cast("dict[str, Any]", value)
    args = call.get("arguments", call.get("parameters"))
    return len(call) == 2 and isinstance(call.get("name"), str) and isinstance(args, dict)


def _answer(text: str, thought: str, reply: Reply) -> Decision:
    if text:
        return Decision(thought, answer=text)
    return Decision(thought, problem=CUT_OFF if is_cut(reply) else "it holds neither an answer nor a tool call")
