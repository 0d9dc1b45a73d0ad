"""A run as plain text: thoughts, tool input and output, and the answer, in markers if wanted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from treadle._engine.surfaces.answer_pieces import missing
from treadle._tools.results import SO_FAR
from treadle._types.events import (
    AnswerDelta,
    AnswerDone,
    AnswerRetracted,
    Record,
    Reset,
    TextStreamed,
    ThinkDone,
    ToolDone,
    ToolOutput,
    ToolStarted,
)
from treadle._types.messages import text_of
from treadle._types.state import CONVERSATION

OPEN, CLOSE = "<__final_answer__>", "</__final_answer__>"


class TextView:
    """Feed it records, it gives text, of which nothing can be taken back.

    Without markers, words that may be the answer are given as they come; if they turn out to be a thought, a line ends
    there. With markers they wait until it is known what they are: the answer stands between the markers, once.
    Of runs inside the run, only the tools they use are shown.
    """

    def __init__(self, *, markers: bool) -> None:
        self.answer = ""
        self._markers = markers
        self._thought = ""
        """What was given of the current reply as a thought."""
        self._waiting = ""
        """Words that may be the answer, or a thought."""
        self._answer = ""
        """What was given of the answer."""
        self._open = False
        self._streamed_tool = ""

    def feed(self, record: Record) -> Iterator[str]:
        event = record.event
        if record.depth:
            yield from _of_a_child(record)
            return
        match event:
            case AnswerDelta(text=text, provisional=provisional):
                if provisional and self._markers:
                    self._waiting += text
                else:
                    yield from self._say(text)
            case AnswerRetracted(text=text):
                yield from self._move(text)
            case TextStreamed(component=component, reasoning=False, text=text) if component in CONVERSATION:
                self._thought += text
                yield text
            case ThinkDone(component=component) if component in CONVERSATION:
                yield from self._end_of_thought(event)
            case Reset():
                yield from self._reset()
            case ToolStarted(call=call):
                yield f"\n[{call.name}] {msgspec.json.encode(call.args).decode()}\n"
            case ToolOutput(call_id=call_id, text=text):
                self._streamed_tool = call_id
                yield text
            case ToolDone(final=False):
                if self._streamed_tool != event.call_id:
                    yield text_of(event.content)
                elif event.error:  # its output was shown as it came, its failure was not
                    yield "\n" + text_of(event.content).partition(SO_FAR)[0]
                yield "\n"
            case AnswerDone(text=text):
                yield from self._end_of_answer(text)
            case _:
                pass

    def _say(self, text: str) -> Iterator[str]:
        if self._thought and not self._answer:
            if not self._thought.endswith("\n"):
                yield "\n"
            self._thought = ""
        if self._markers and not self._open:
            self._open = True
            yield OPEN
        if self._waiting:
            text, self._waiting = self._waiting + text, ""
        self._answer += text
        yield text

    def _move(self, text: str) -> Iterator[str]:
        """It was a thought."""
        if self._waiting:
            yield self._waiting
        if self._open:
            self._open = False
            yield CLOSE
        yield "\n"
        self._thought += text + "\n"
        self._waiting = self._answer = ""

    def _reset(self) -> Iterator[str]:
        """What was given since the last start is void: it stays, apart from what follows."""
        if self._open:
            self._open = False
            yield CLOSE
        if self._answer or self._thought:
            yield "\n"
        self._waiting = self._answer = self._thought = ""

    def _end_of_thought(self, event: ThinkDone) -> Iterator[str]:
        if event.thought and not (self._thought.strip() or self._answer or event.problem):
            yield event.thought + "\n"
        if event.message.calls or event.problem:
            self._thought = ""

    def _end_of_answer(self, text: str) -> Iterator[str]:
        self.answer = text
        self._waiting = ""
        if rest := missing(self._answer, text):
            yield from self._say(rest)
        if self._open or (self._markers and not text):
            yield CLOSE if self._open else OPEN + CLOSE
        self._open, self._answer = False, ""


def _of_a_child(record: Record) -> Iterator[str]:
    """Runs inside the run work side by side: whole lines only, indented by their depth."""
    indent = "  " * record.depth
    event = record.event
    if isinstance(event, ToolStarted):
        yield f"\n{indent}[{event.call.name}] {msgspec.json.encode(event.call.args).decode()}\n"
    elif isinstance(event, ToolDone):
        yield "".join(f"{indent}{line}\n" for line in text_of(event.content).splitlines())
