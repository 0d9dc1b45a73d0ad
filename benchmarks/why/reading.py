"""What a model finds that is simply given the log of a run and asked for the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle import Model
from treadle._models.base import complete
from treadle._types.events import MessageAdded, Record, RunFinished, RunStarted, ThinkDone, ToolDone
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.request import Request


def trace_of(records: Sequence[Record], most: int) -> str:
    """What a person would read of a run, as short as it can be."""
    lines: list[str] = []
    for record in records:
        event = record.event
        if isinstance(event, RunStarted):
            lines.append(f"SYSTEM: {event.system}")
            lines += [f"TOOL {tool.name}: {tool.description}" for tool in event.tools]
            settings = ", ".join(f"{name}={value}" for name, value in event.settings.items())
            lines.append(f"SETTINGS: {settings}, dialect={event.dialect}")
            lines += [
                f"EARLIER {m.role}: {text_of(getattr(m, 'content', '')) or getattr(m, 'text', '')}"
                for m in event.history
            ]  # type: ignore[union-attr]
            lines.append(f"USER: {text_of(event.question)}")
        elif isinstance(event, MessageAdded):
            lines.append(f"NOTE of {event.component}: {text_of(getattr(event.message, 'content', ''))}")
        elif isinstance(event, ThinkDone) and event.message.calls:
            lines += [f"CALL {call.name} {call.args}" for call in event.message.calls]
        elif isinstance(event, ToolDone):
            lines.append(f"RESULT of {event.name}: {text_of(event.content)[:300]}")
        elif isinstance(event, RunFinished):
            lines.append(f"ANSWER: {event.answer or event.error}")
    text = "\n".join(lines)
    return text if len(text) <= most else f"{text[: most // 2]}\n...\n{text[-most // 2 :]}"


async def read(model: Model, records: Sequence[Record], wanted: str, names: Sequence[str], most: int) -> dict[str, Any]:
    """Whether a model names the cause that is given the log and what was expected. It counts as found when what it says
    has one of the words by which the cause is known: that is generous."""
    asked = (
        f"{trace_of(records, most)}\n\n"
        f"The answer is wrong; expected was: {wanted}. Which one line or setting above caused it? Quote it."
    )
    messages = [SystemMessage("You find the cause of mistakes in logs."), UserMessage(asked)]
    reply = await complete(model, Request(messages, temperature=0.0, max_tokens=40, component="reader"))
    said = reply.text.strip()
    return {"read": any(name.casefold() in said.casefold() for name in names), "said": said}
