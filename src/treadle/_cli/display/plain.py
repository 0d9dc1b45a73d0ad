"""A run as plain text, or as JSON lines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import msgspec

from treadle._cli.display.base import APPROVAL_WORDS, LINE_FIRST, RESULT_LINES
from treadle._cli.display.notice import AGAIN_SECONDS
from treadle._cli.display.text import arguments, clean, few_lines, seconds, spent
from treadle._cli.display.timeline import Card, Line, Timeline, ending, observation
from treadle._engine.result import RunResult
from treadle._types.events import Record
from treadle._view.items import Answer

_MARKS = {"thought": "", "note": "- ", "warning": "! ", "you": "you: ", "divider": "-- ", "plan": ""}


class _Prompt:
    """Questions to the user, and the echo of what is typed meanwhile, as plain text on whichever stream is seen."""

    _asking = False
    _shown = ""

    def typed(self, text: str, *, message: bool = True) -> None:
        if not self._asking:
            return  # the terminal itself shows what is typed
        pairs = enumerate(zip(self._shown, text, strict=False))
        common = next((place for place, (old, new) in pairs if old != new), min(len(self._shown), len(text)))
        mark = f"\n{LINE_FIRST}\n> " if message and text and not self._shown else ""
        self._write(mark + "\b \b" * (len(self._shown) - common) + clean(text[common:]))
        self._shown = text

    def ask(self, text: str = "", words: str = APPROVAL_WORDS) -> None:
        self._asking, self._shown = bool(text), ""
        self._write(f"{text}\n{words} " if text else "\n")

    def say(self, text: str) -> None:
        self._shown = ""
        self._write(f"\n{text}\n? " if self._asking else f"{text}\n")

    def _write(self, text: str) -> None:
        stream = sys.stderr if sys.stderr.isatty() or not sys.stdout.isatty() else sys.stdout
        print(text, end="", file=stream, flush=True)


class PlainDisplay(_Prompt):
    """Steps as text to one stream, the answer to another, so that a pipe gets only the answer."""

    live = False

    def __init__(
        self, run_id: str, *, steps: TextIO | None, answer: TextIO | None, past: Sequence[Record] = ()
    ) -> None:
        self.timeline = Timeline(run_id, past)
        self._steps = steps
        self._answer = answer
        self._silent = False
        """Nothing was shown since the last look."""
        self._beating: asyncio.Task[None] | None = None
        if steps is not None:
            with suppress(RuntimeError):  # a log that is shown without an event loop cannot be silent
                self._beating = asyncio.get_running_loop().create_task(self._beat(steps))

    async def _beat(self, steps: TextIO) -> None:
        """A model that thinks for long shows nothing: say from time to time that it still does."""
        while True:
            self._silent = True
            await asyncio.sleep(AGAIN_SECONDS)
            if self._silent and not self._asking:
                print(f"… {self.timeline.status(cost=False)}".replace(" · ", ", "), file=steps, flush=True)

    def feed(self, record: Record) -> None:
        for item in self.timeline.feed(record):
            self._silent = False
            if isinstance(item, Answer):
                if self._answer is not None and item.source != "error":
                    print(clean(item.text), file=self._answer, flush=True)
            elif self._steps is not None:
                print("\n".join(_lines(item)), file=self._steps, flush=True)

    def finish(self, result: RunResult) -> None:
        self.close()
        if self._steps is not None:
            line = ending(result.stop_reason, result.iterations, result.elapsed, spent(result.usage), result.run_id)
            print(f"-- {line.replace(' · ', ', ')}", file=self._steps, flush=True)

    def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()


def _lines(item: Line | Card) -> list[str]:
    pad = "  " * item.depth
    if isinstance(item, Line):
        text = clean(item.text)
        return [
            f"{pad}{_MARKS[item.kind] if number == 0 else ''}{line}" for number, line in enumerate(text.split("\n"))
        ]
    call = item.call
    lines = [f"{pad}> {clean(call.tool)} {arguments(call.args, 400)}".rstrip()]
    lines += [f"{pad}  {line}" for line in few_lines(observation(call), RESULT_LINES)]
    lines.append(f"{pad}  ({f'{call.error}, ' if call.error else ''}{seconds(call.elapsed)})")
    return lines


class JsonDisplay(_Prompt):
    """Every record as one line of JSON on stdout, also those that are not stored."""

    live = False

    def __init__(self) -> None:
        self._encoder = msgspec.json.Encoder()

    def feed(self, record: Record) -> None:
        sys.stdout.buffer.write(self._encoder.encode(record) + b"\n")
        sys.stdout.buffer.flush()

    def finish(self, result: RunResult) -> None:
        pass

    def close(self) -> None:
        pass
