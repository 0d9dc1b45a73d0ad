"""What the text dialects share: calls and answers travel in the words of the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from treadle._dialects.base import Decision, Prompts
from treadle._dialects.describe import describe, example_args
from treadle._dialects.prompts import EXAMPLES, FINISH, FRAME, Example, Frame
from treadle._dialects.reading.reply import CUT_OFF, Reading
from treadle._dialects.reading.shapes import Found, thought_in
from treadle._types.messages import AssistantMessage, ImagePart, Message, TextPart, ToolCall, ToolMessage, UserMessage
from treadle._types.request import Reply, ToolSchema

_CUT_FINISHES = ("length", "error", "filter")


def is_cut(reply: Reply) -> bool:
    """Whether the reply may end in the middle of something."""
    return reply.finish in _CUT_FINISHES


class Said(Struct, frozen=True):
    """What a message means, free of the dialect it was written in."""

    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    task_successful: bool | None = None


def said_by(message: AssistantMessage) -> Said | None:
    """What an earlier message means; None when it could not be read, so that only its text is left."""
    if message.dialect == "native":
        return Said(message.text, message.calls) if message.calls else Said(answer=message.text)
    from treadle._dialects import get_dialect

    decision = get_dialect(message.dialect).decode(Reply(text=message.text), ())
    if message.calls:
        return Said(decision.thought, message.calls)
    return None if decision.answer is None else Said(decision.thought, (), decision.answer, decision.task_successful)


class TextDialect(Struct, frozen=True):
    """A dialect in plain text. A child says how its prompt reads, how it writes, and what a reading means."""

    name: ClassVar[str]
    native: ClassVar[bool] = False
    prompt: ClassVar[str]
    reformat_prompt: ClassVar[str]
    worked: ClassVar[tuple[Example, ...]] = EXAMPLES
    frame: ClassVar[Frame] = FRAME

    def system(self, base: str, tools: Sequence[ToolSchema], prompts: Prompts) -> str:
        text = prompts.get(f"dialect.{self.name}", self.prompt)
        filled = self.fill(text).replace("{examples}", self.examples()).replace("{tools}", describe(tools)).strip()
        return f"{base.strip()}\n\n{filled}" if base.strip() else filled

    def reformat(self, problem: str, prompts: Prompts) -> str:
        text = prompts.get(f"dialect.{self.name}.reformat", self.reformat_prompt)
        return self.fill(text).replace("{problem}", problem.rstrip("."))

    def fill(self, text: str) -> str:
        return text

    def examples(self) -> str:
        """The worked example in this dialect's own form."""
        lines: list[str] = []
        for given, thought, name, made in self.worked:
            said = Said(thought, answer=made) if isinstance(made, str) else Said(thought, (ToolCall("", name, made),))
            lines.append(f"{given} -> {self.write(said)}")
        return "\n".join(lines)

    def own_calls(self, tools: Sequence[ToolSchema], thought: str = "") -> str:
        """Examples with these tools, a line each."""
        calls = [ToolCall("", tool.name, example_args(tool)) for tool in tools]
        return "\n".join(f"A question for {call.name} -> {self.write(Said(thought, (call,)))}" for call in calls)

    def write(self, said: Said) -> str:
        """A meaning in this dialect's own form."""
        raise NotImplementedError

    def assistant(self, message: AssistantMessage) -> AssistantMessage:
        if message.dialect == self.name:
            return msgspec.structs.replace(message, calls=()) if message.calls else message
        said = said_by(message)
        text = self.write(said) if said else message.text
        return AssistantMessage(text, reasoning=message.reasoning, dialect=self.name)

    def results(self, results: Sequence[ToolMessage], task: str = "") -> Sequence[Message]:
        frame = self.frame
        ending = frame.try_again if any(result.error for result in results) else frame.go_on if task else FINISH
        shown = [part for result in results for part in _observation(result)]
        words = (frame.observed, frame.task + task if task else "")
        before, after = ([TextPart(text)] if text else [] for text in words)
        return joined(*before, *shown, *after, TextPart(ending))


def joined(*parts: TextPart | ImagePart) -> Sequence[Message]:
    """One message with results and what is said about them."""
    if any(isinstance(part, ImagePart) for part in parts):
        return (UserMessage(parts, kind="observation"),)
    return (UserMessage("\n".join(part.text for part in parts if isinstance(part, TextPart)), kind="observation"),)


def parts_of(result: ToolMessage) -> tuple[TextPart | ImagePart, ...]:
    return (TextPart(result.content),) if isinstance(result.content, str) else result.content


def plain_name(result: ToolMessage) -> str:
    return re.sub(r"[^\w.:/-]", "_", result.name)[:128]


def _observation(result: ToolMessage) -> list[TextPart | ImagePart]:
    """A result between tags that its content cannot close."""
    head = TextPart(f'<result tool="{plain_name(result)}"{" error" if result.error else ""}>')
    inner = [TextPart(_sealed(part.text)) if isinstance(part, TextPart) else part for part in parts_of(result)]
    return [head, *inner, TextPart("</result>")]


def _sealed(text: str) -> str:
    return re.sub(r"<(/?)(?=result\b)", r"<\1_", text, flags=re.IGNORECASE)


def to_calls(found: Sequence[Found], raw: str) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            f"call_{index}", call.name, call.args, raw[:2000] if call.problem or call.repaired else "", call.problem
        )
        for index, call in enumerate(found)
    )


def decide(reading: Reading, reply: Reply, *, answer: str | None = None, nothing: str) -> Decision:
    """The decision a reading stands for: calls before an answer, a problem when there is neither."""
    thought = (
        (thought_in(reading.fields) if reading.fields else "") or reading.before or reading.thinking or reply.reasoning
    )
    usable = [call for call in reading.calls if not call.problem]
    if usable:
        return Decision(
            thought,
            to_calls(reading.calls, reading.text),
            answer,
            "",
            reading.repaired or any(call.repaired for call in usable),
        )
    if reading.calls:
        call = reading.calls[0]
        return Decision(
            thought, problem=CUT_OFF if is_cut(reply) else f"the call of {call.name} cannot be used: {call.problem}"
        )
    if answer is not None:
        return Decision(thought, (), answer, "", reading.repaired)
    return Decision(thought, problem=reading.problem or (CUT_OFF if is_cut(reply) and not reading.text else nothing))


def encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
