"""The work so far as text: for a model that writes the answer, and for a user who gets no better one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from treadle._tools.results import cut
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, text_of
from treadle._types.state import RunState
from treadle._types.state_values import Step

_ADDED = ("interrupt", "question", "note", "summary")


_SHORTEST = 120
"""Characters that even the oldest step of a trace has, while all of them fit so."""


def trace(steps: list[Step], limit: int, max_chars: int | None = None) -> str:
    """The steps as text for a reader, each result cut. With `max_chars` older ones are cut more than later ones, and
    the oldest are left out where not even that is enough."""
    lines: list[str] = []
    for number in range(len(steps), 0, -1):
        step = steps[number - 1]
        room = limit if max_chars is None else max(_SHORTEST, min(limit, max_chars - (number - 1) * _SHORTEST))
        result = step.observation if len(step.observation) <= room else f"{step.observation[: room - 10]} [... cut]"
        kind = "error" if step.error else "result"
        line = f"{number}. {step.tool}({msgspec.json.encode(step.args).decode()[: room // 4]})\n{kind}: {result}"
        if max_chars is not None:
            line = line if room == limit or not lines else cut(line, room)
            max_chars -= len(line) + 2
            if max_chars < 0 and lines:
                lines.append(f"({number} earlier steps are left out)")
                break
        lines.append(line)
    return "\n\n".join(reversed(lines)) or "(no tool was run)"


def fenced(steps: Iterable[Step]) -> list[Step]:
    """The steps with results of which no line looks like the beginning of another step, or like words of the engine."""
    from treadle._dialects.text import indented  # rarely needed

    return [msgspec.structs.replace(step, observation=indented(step.observation)) for step in steps]


def conversation(messages: Iterable[Message], limit: int, last: int | None = None, room: int | None = None) -> str:
    """Return what was said as text for a reader, each message cut; with `last` only that many of the latest. With
    `room` for too few characters, what was not said by the user is cut first."""
    chosen = list(messages)[-last:] if last else list(messages)
    lines = [(isinstance(one, UserMessage), line) for one in chosen if (line := _line(one, limit))]
    if room is not None and sum(len(line) + 1 for _, line in lines) > room:
        others = sum(not from_user for from_user, _ in lines)
        left = room - sum(len(line) + 1 for from_user, line in lines if from_user)
        lines = [(from_user, line if from_user else cut(line, left // others - 1)) for from_user, line in lines]
    text = "\n".join(line for _, line in lines if line)
    return text if room is None else cut(text, room)


def _line(message: Message, limit: int) -> str:
    match message:
        case UserMessage(content=content):
            return f"User: {cut(text_of(content), limit)}"
        case AssistantMessage(text=text) if text.strip():
            return f"Assistant: {cut(text, limit)}"
        case ToolMessage(name=name, content=content):
            return f"Result of {name}: {cut(text_of(content), limit)}"
        case _:
            return ""


def split_at_question(messages: Sequence[Message]) -> tuple[list[Message], list[UserMessage]]:
    """Return what was said before the question of a run, and what was added to its conversation after it by the user or
    a plug-in; not what asks for a reply to be written again."""
    found = (n for n, m in enumerate(messages) if isinstance(m, UserMessage) and m.pinned and m.kind == "question")
    at = next(found, -1)
    before: list[Message] = [message for message in messages[: max(at, 0)] if not isinstance(message, SystemMessage)]
    after = [m for m in messages[at + 1 :] if isinstance(m, UserMessage) and m.kind in _ADDED]
    return before, after


def progress(state: RunState) -> str:
    """Which tools ran and how it went: an answer when no better one can be had. Without any work there is none: the
    error of the run says why."""
    if not state.steps:
        return ""
    lines = [
        f"- {step.tool}: {'failed (' + step.error + ')' if step.error else 'succeeded'}" for step in state.steps[-20:]
    ]
    last = next((step.observation for step in reversed(state.steps) if not step.error), "")
    tail = f"\n\nLast result: {last[:500]}" if last else ""
    left_out = f" (the last 20 of {len(state.steps)})" if len(state.steps) > 20 else ""
    return f"No final answer was reached. Tools that ran{left_out}:\n" + "\n".join(lines) + tail
