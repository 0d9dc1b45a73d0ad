"""A run as plain text, or as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

import msgspec

from treadle._cli.display.base import APPROVAL_KEYS, RESULT_LINES, approval_text
from treadle._cli.display.text import arguments, clean, few_lines, seconds, spent
from treadle._cli.display.timeline import Answer, Card, Line, Timeline, ending, observation
from treadle._engine.result import RunResult
from treadle._types.events import Record
from treadle._types.messages import ToolCall

_MARKS = {"thought": "", "note": "- ", "warning": "! ", "you": "you: ", "divider": "-- ", "plan": ""}


class PlainDisplay:
    """Steps as text to one stream, the answer to another, so that a pipe gets only the answer."""

    live = False

    def __init__(
        self, run_id: str, *, steps: TextIO | None, answer: TextIO | None, past: Sequence[Record] = ()
    ) -> None:
        self.timeline = Timeline(run_id, past)
        self._steps = steps
        self._answer = answer

    def feed(self, record: Record) -> None:
        for item in self.timeline.feed(record):
            if isinstance(item, Answer):
                if self._answer is not None and item.source != "error":
                    print(clean(item.text), file=self._answer, flush=True)
            elif self._steps is not None:
                print("\n".join(_lines(item)), file=self._steps, flush=True)

    def typed(self, text: str) -> None:
        pass  # the terminal itself shows what is typed

    def ask(self, call: ToolCall | None) -> None:
        if call is not None:
            print(f"{approval_text(call)}\n{APPROVAL_KEYS} ", end="", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def finish(self, result: RunResult) -> None:
        if self._steps is not None:
            line = ending(result.stop_reason, result.iterations, result.elapsed, spent(result.usage), result.run_id)
            print(f"-- {line.replace(' · ', ', ')}", file=self._steps, flush=True)

    def close(self) -> None:
        pass


def _lines(item: Line | Card) -> list[str]:
    pad = "  " * item.depth
    if isinstance(item, Line):
        text = clean(item.text)
        return [
            f"{pad}{_MARKS[item.kind] if number == 0 else ''}{line}" for number, line in enumerate(text.split("\n"))
        ]
    lines = [f"{pad}> {clean(item.call.name)} {arguments(item.call.args, 400)}".rstrip()]
    if item.done is not None:
        lines += [f"{pad}  {line}" for line in few_lines(observation(item.done), RESULT_LINES)]
        failed = f"{item.done.error}, " if item.done.error else ""
        lines.append(f"{pad}  ({failed}{seconds(item.done.elapsed)})")
    return lines


class JsonDisplay:
    """Every record as one line of JSON on stdout, also those that are not stored."""

    live = False

    def __init__(self) -> None:
        self._encoder = msgspec.json.Encoder()

    def feed(self, record: Record) -> None:
        sys.stdout.buffer.write(self._encoder.encode(record) + b"\n")
        sys.stdout.buffer.flush()

    def typed(self, text: str) -> None:
        pass

    def ask(self, call: ToolCall | None) -> None:
        if call is not None:
            print(f"{approval_text(call)}\n{APPROVAL_KEYS} ", end="", file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def finish(self, result: RunResult) -> None:
        pass

    def close(self) -> None:
        pass
