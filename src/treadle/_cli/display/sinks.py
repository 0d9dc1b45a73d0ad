"""What shows a run: as plain text, as JSON lines, or (see `live`) alive on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

import msgspec

from treadle._cli.display.story import Answer, Card, Line, Story, ending, observation
from treadle._cli.display.text import arguments, clean, few_lines, plain_json, seconds, spent
from treadle._engine.result import RunResult
from treadle._types.events import Record
from treadle._types.messages import ToolCall

SHOWN_LINES = 6
_MARKS = {"thought": "", "note": "- ", "warning": "! ", "you": "you: ", "divider": "-- ", "plan": ""}


class Display(Protocol):
    """Shows one run. Everything may be called at any time between the first record and `close`."""

    live: bool
    """Draws the line that is being typed itself."""

    def feed(self, record: Record) -> None: ...

    def typed(self, text: str) -> None:
        """The line that is being typed while the run works."""
        ...

    def ask(self, call: ToolCall | None) -> None:
        """Show that `call` waits for a decision; None when it has been made."""
        ...

    def say(self, text: str) -> None:
        """A line of the program's own."""
        ...

    def finish(self, result: RunResult) -> None: ...

    def close(self) -> None:
        """Leave the terminal as it was found."""
        ...


class PlainDisplay:
    """Steps as text to one stream, the answer to another; so a pipe gets the answer and nothing else."""

    live = False

    def __init__(
        self, run_id: str, *, steps: TextIO | None, answer: TextIO | None, past: Sequence[Record] = ()
    ) -> None:
        self.story = Story(run_id, past)
        self._steps = steps
        self._answer = answer

    def feed(self, record: Record) -> None:
        for item in self.story.feed(record):
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


APPROVAL_KEYS = "allow this call? [y]es, [n]o, [a]lways this tool, [l]ater:"


def approval_text(call: ToolCall) -> str:
    """The whole call: a person decides about all of it, not about the part that fits a line."""
    return f"? {clean(call.name)} {clean(plain_json(call.args))}"


def _lines(item: Line | Card) -> list[str]:
    pad = "  " * item.depth
    if isinstance(item, Line):
        text = clean(item.text)
        return [
            f"{pad}{_MARKS[item.kind] if number == 0 else ''}{line}" for number, line in enumerate(text.split("\n"))
        ]
    shown = [f"{pad}> {clean(item.call.name)} {arguments(item.call.args, 400)}".rstrip()]
    if item.done is not None:
        shown += [f"{pad}  {line}" for line in few_lines(observation(item.done), SHOWN_LINES)]
        failed = f"{item.done.error}, " if item.done.error else ""
        shown.append(f"{pad}  ({failed}{seconds(item.done.elapsed)})")
    return shown


class JsonDisplay:
    """Every record as one line of JSON on stdout, transient ones too."""

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


def open_display(
    run_id: str, *, json: bool = False, quiet: bool = False, prompt: bool = False, past: Sequence[Record] = ()
) -> Display:
    """The display that suits where the output goes; with `prompt` it has room for a line that is typed."""
    if json:
        return JsonDisplay()
    if not quiet and rich_terminal(sys.stdout):
        from treadle._cli.display.live import LiveDisplay

        return LiveDisplay(run_id, sys.stdout, prompt=prompt, past=past)
    if not quiet and rich_terminal(sys.stderr):  # the answer goes to a file or a pipe, and somebody watches
        from treadle._cli.display.live import LiveDisplay

        return LiveDisplay(run_id, sys.stderr, answer=sys.stdout, prompt=prompt, past=past)
    return PlainDisplay(run_id, steps=None if quiet else sys.stderr, answer=sys.stdout, past=past)


def rich_terminal(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that can show more than plain text, and the package that does it is installed."""
    if not stream.isatty() or os.environ.get("TERM", "") in ("dumb", "unknown") or os.environ.get("TREADLE_PLAIN"):
        return False
    from importlib.util import find_spec

    return find_spec("rich") is not None
