"""A run as plain text: thoughts, tool input and output, and the answer, in markers if wanted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from treadle._types.events import (
    AnswerDelta,
    AnswerDone,
    Record,
    Reset,
    TextStreamed,
    ThinkDone,
    ToolDone,
    ToolOutput,
    ToolStarted,
)
from treadle._types.messages import text_of

OPEN, CLOSE = "<__final_answer__>", "</__final_answer__>"
_HIDDEN = (OPEN, "Action:")
"""Where a streamed thought ends and something begins that is shown in its own way."""


class TextView:
    """Feed it records, it gives text. A marker never leaks in part: what might be the start of one is held back."""

    def __init__(self, *, markers: bool) -> None:
        self.answer = ""
        self._markers = markers
        self._held = ""
        self._hiding = ""
        self._thought = ""
        self._answer_shown = ""
        self._answer_open = False
        self._streamed_tool = ""

    def feed(self, record: Record) -> Iterator[str]:
        match record.event:
            case TextStreamed(component="loop" | "repair", reasoning=False, text=text):
                yield from self._stream(text)
            case ThinkDone(component="loop" | "repair") as event:
                yield from self._end_of_thought(event)
            case Reset():
                self._held = self._hiding = self._thought = self._answer_shown = ""
            case ToolStarted(call=call):
                yield f"\n[{call.name}] {msgspec.json.encode(call.args).decode()}\n"
            case ToolOutput(call_id=call_id, text=text):
                self._streamed_tool = call_id
                yield text
            case ToolDone() as event:
                if self._streamed_tool != event.call_id:
                    yield text_of(event.content)
                yield "\n"
            case AnswerDelta(text=text):
                yield from self._answer_piece(text)
            case AnswerDone(text=text):
                yield from self._end_of_answer(text)
            case _:
                pass

    def _stream(self, text: str) -> Iterator[str]:
        """Thought text as it comes, up to what is hidden; an answer between markers as it comes, too."""
        self._held += text
        if not self._hiding:
            starts = [(index, mark) for mark in _HIDDEN if (index := self._held.find(mark)) >= 0]
            if starts:
                index, self._hiding = min(starts)
                if shown := self._held[:index]:
                    self._thought += shown
                    yield shown
                self._held = self._held[index + len(self._hiding) :]
            else:
                shown, self._held = _split_safe(self._held, _HIDDEN)
                self._thought += shown
                if shown:
                    yield shown
        if self._hiding == OPEN:
            end = self._held.find(CLOSE)
            shown, self._held = (self._held[:end], self._held[end:]) if end >= 0 else _split_safe(self._held, (CLOSE,))
            if shown:
                yield from self._answer_piece(shown)

    def _end_of_thought(self, event: ThinkDone) -> Iterator[str]:
        if not self._hiding and self._held:
            self._thought += self._held
            yield self._held
        if not self._thought and event.thought and not event.problem:
            yield event.thought + "\n"
        self._held = self._hiding = ""
        if event.message.calls or event.problem:
            self._thought = ""

    def _answer_piece(self, text: str) -> Iterator[str]:
        if not self._answer_open:
            already = self._thought.strip() and self._thought.strip() == text.strip() and not self._markers
            self._answer_open = True
            if self._markers:
                yield OPEN
            elif already:
                self._answer_shown = text
                return
        if self._answer_shown and text.startswith(self._answer_shown):
            text, self._answer_shown = text[len(self._answer_shown) :], text
        else:
            self._answer_shown += text
        if text:
            yield text

    def _end_of_answer(self, text: str) -> Iterator[str]:
        self.answer = text
        if not self._answer_open:
            yield from self._answer_piece(text)
        if self._markers:
            yield CLOSE


def _split_safe(text: str, marks: tuple[str, ...]) -> tuple[str, str]:
    """What can be shown now, and the tail that may be the start of a marker."""
    for size in range(min(len(text), max(map(len, marks)) - 1), 0, -1):
        if any(mark.startswith(text[-size:]) for mark in marks):
            return text[:-size], text[-size:]
    return text, ""
