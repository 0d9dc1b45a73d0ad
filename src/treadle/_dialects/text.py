"""What the text dialects share: calls and answers are written into the text of the messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from treadle._dialects.base import Decision, Encoding, Prompts
from treadle._dialects.describe import describe, example_args
from treadle._dialects.prompts import EXAMPLES, FINISH, FRAME, Example, ResultFrame
from treadle._dialects.reading.extract import CUT_OFF
from treadle._dialects.reading.reply import Reading, by_name, read
from treadle._dialects.reading.shapes import ParsedCall, thought_in
from treadle._dialects.watching.base import Watcher
from treadle._types.messages import AssistantMessage, Message, Part, TextPart, ToolCall, ToolMessage, UserMessage
from treadle._types.profile import Profile
from treadle._types.request import Reply, ToolSchema

_CUT_FINISHES = ("length", "error", "filter")


def is_cut(reply: Reply) -> bool:
    """Return whether the reply may have ended before it was complete."""
    return reply.finish in _CUT_FINISHES


class TextDialect(Struct, frozen=True):
    """A dialect in plain text. A subclass gives its prompt, how it writes a decision, and how it reads a reply."""

    name: ClassVar[str]
    native: ClassVar[bool] = False
    prompt: ClassVar[str]
    reformat_prompt: ClassVar[str]
    worked_examples: ClassVar[tuple[Example, ...]] = EXAMPLES
    frame: ClassVar[ResultFrame] = FRAME

    def system(self, base: str, tools: Sequence[ToolSchema], prompts: Prompts) -> str:
        text = prompts.get(f"dialect.{self.name}", self.prompt)
        filled = self.fill(text).replace("{examples}", self.examples()).replace("{tools}", describe(tools)).strip()
        return f"{base.strip()}\n\n{filled}" if base.strip() else filled

    def reformat(self, problem: str, prompts: Prompts) -> str:
        text = prompts.get(f"dialect.{self.name}.reformat", self.reformat_prompt)
        return self.fill(text).replace("{problem}", problem.rstrip("."))

    def encode(
        self, tools: tuple[ToolSchema, ...], profile: Profile, *, must_answer: bool = False, must_act: bool = False
    ) -> Encoding:
        """Nothing is asked of the provider: the words of the prompt are all there is."""
        return Encoding()

    def fill(self, text: str) -> str:
        """The text with the placeholders of this dialect alone filled in."""
        return text

    def examples(self) -> str:
        """The worked examples as this dialect writes them."""
        lines: list[str] = []
        for given, thought, name, args_or_answer in self.worked_examples:
            if isinstance(args_or_answer, str):
                decision = Decision(thought, answer=args_or_answer)
            else:
                decision = Decision(thought, (ToolCall("", name, args_or_answer),))
            lines.append(f"{given} -> {self.write(decision)}")
        return "\n".join(lines)

    def example_calls(self, tools: Sequence[ToolSchema], thought: str = "") -> str:
        """An example call of each of these tools, a line each."""
        calls = [ToolCall("", tool.name, example_args(tool)) for tool in tools]
        return "\n".join(f"A question for {call.name} -> {self.write(Decision(thought, (call,)))}" for call in calls)

    def watch(self, *, tools: bool) -> Watcher:
        from treadle._dialects.watching.json_fields import JsonFields  # only for runs that are watched

        return JsonFields()

    def write(self, decision: Decision) -> str:
        """A decision as the model would write it in this dialect."""
        raise NotImplementedError

    def assistant(self, message: AssistantMessage, decision: Decision | None = None) -> AssistantMessage:
        if message.dialect == self.name:
            return msgspec.structs.replace(message, calls=()) if message.calls else message
        text = self.write(decision) if decision else message.text
        return AssistantMessage(text, reasoning=message.reasoning, dialect=self.name)

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        frame = self.frame
        failed = any(result.error for result in results)
        ending = frame.after_failure if failed else frame.next_step if task else FINISH
        shown = [part for result in results for part in _tagged(result)]
        before, after = (
            [TextPart(text)] if text else [] for text in (frame.heading, frame.task + task if task else "")
        )
        return observation(*before, *shown, *after, TextPart(ending))


def observation(*parts: Part) -> Sequence[Message]:
    """One user message that shows results; its content is plain text unless there is more than text."""
    if not all(isinstance(part, TextPart) for part in parts):
        return (UserMessage(parts, kind="observation"),)
    return (UserMessage("\n".join(part.text for part in parts if isinstance(part, TextPart)), kind="observation"),)


def content_parts(result: ToolMessage) -> tuple[Part, ...]:
    return (TextPart(result.content),) if isinstance(result.content, str) else result.content


def safe_name(result: ToolMessage) -> str:
    """The tool's name without characters that could break the text around it."""
    return re.sub(r"[^\w.:/-]", "_", result.name)[:128]


def labelled(result: ToolMessage) -> list[Part]:
    """A result after the name of its tool, indented so that no line of it looks like one of the engine's own."""
    parts = content_parts(result)
    said = indented("\n".join(part.text for part in parts if isinstance(part, TextPart)))
    head = f"{safe_name(result)} {'failed' if result.error else 'says'}: "
    return [TextPart(head + said), *(part for part in parts if not isinstance(part, TextPart))]


def indented(text: str) -> str:
    """A text of which no line but the first begins where those of the engine do."""
    return "\n  ".join(text.splitlines())


def _tagged(result: ToolMessage) -> list[Part]:
    """A result between tags that its content cannot close."""
    opening = TextPart(f'<result tool="{safe_name(result)}"{" error" if result.error else ""}>')
    inner = [
        TextPart(re.sub(r"<(/?)(?=result\b)", r"<\1_", part.text, flags=re.IGNORECASE))
        if isinstance(part, TextPart)
        else part
        for part in content_parts(result)
    ]
    return [opening, *inner, TextPart("</result>")]


def to_tool_calls(parsed: Sequence[ParsedCall], raw: str) -> tuple[ToolCall, ...]:
    """Calls read from the text `raw`, which goes with those that are broken or repaired."""
    return tuple(
        ToolCall(
            f"call_{index}",
            call.name,
            call.args,
            raw[:2000] if call.problem or call.repaired else "",
            call.problem,
            call.repaired,
        )
        for index, call in enumerate(parsed)
    )


def decide(
    reading: Reading, reply: Reply, tools: Sequence[ToolSchema], *, answer: str | None = None, missing: str
) -> Decision:
    """The decision in a reading: calls come before an answer; without either, `missing` is the problem, or, where there
    is no tool that could be meant, the words are the answer."""
    thought = thought_in(reading.fields) if reading.fields else ""
    thought = thought or reading.before or reading.thinking or reply.reasoning
    usable = [call for call in reading.calls if not call.problem]
    if usable:
        calls = to_tool_calls(reading.calls, reading.text)
        repaired = reading.repaired or any(bool(call.repaired) for call in usable)
        return Decision(thought, calls, answer, repaired=repaired)
    if reading.calls:
        call = reading.calls[0]
        problem = CUT_OFF if is_cut(reply) else f"the call of {call.name} cannot be used: {call.problem}"
        return Decision(thought, problem=problem)
    if answer is not None:
        return Decision(thought, answer=answer, repaired=reading.repaired)
    if not tools and reading.text and not reading.only_json and not reading.problem:
        return Decision(reading.thinking or reply.reasoning, answer=reading.text)
    return Decision(thought, problem=reading.problem or (CUT_OFF if is_cut(reply) and not reading.text else missing))


def decide_object(reply: Reply, tools: Sequence[ToolSchema], *, missing: str) -> tuple[Decision, dict[str, Any] | None]:
    """The decision of a reply that is one JSON object, and what that object has."""
    reading = read(reply.text, by_name(tools), cut=is_cut(reply))
    missing = missing if reading.has_json else "there is no JSON object in it"
    return decide(reading, reply, tools, answer=reading.answer, missing=missing), reading.fields
