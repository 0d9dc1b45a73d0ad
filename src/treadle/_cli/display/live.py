"""A run on a terminal, with `rich`: finished steps scroll up, the current one stays at the bottom."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TextIO

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text

from treadle._cli.display.base import APPROVAL_WORDS, LINE_FIRST, RESULT_LINES
from treadle._cli.display.text import arguments, clean, few_lines, last_lines, seconds, spent
from treadle._cli.display.timeline import Card, Item, Line, Timeline, ending, observation
from treadle._engine.result import RunResult
from treadle._types.events import Record
from treadle._view.items import Answer

RECENT_CHARS = 6_000
"""Of a longer text only so much is drawn again and again: a screen has no room for more."""


class Marked(Markdown):
    """Markdown whose links are written out, because the text of a link need not be its target, and in which marks that
    mark nothing are words: the answer to "which operator?" is "*", not a list."""

    def __init__(self, text: str) -> None:
        super().__init__(text, hyperlinks=False)
        lines, tokens, begin = text.splitlines(), list[Token](), 0
        for end, token in enumerate(self.parsed, 1):
            if token.level or token.nesting > 0:
                continue
            block, begin = self.parsed[begin:end], end
            if block[0].type in _OF_MARKS and block[0].map and not any(one.content for one in block):
                block = as_written("\n".join(lines[slice(*block[0].map)]))
            tokens += block
        self.parsed = tokens or as_written(text)


_OF_MARKS = ("heading_open", "bullet_list_open", "ordered_list_open", "blockquote_open")


def as_written(text: str) -> list[Token]:
    return Markdown(re.sub(r"([^\w\s])", r"\\\1", text.strip())).parsed


class StreamedMarkdown:
    """The last lines of a text that grows. It is parsed again only when it has changed."""

    def __init__(self) -> None:
        self._text = ""
        self._parsed = Marked("")
        self._lines = 0

    def of(self, text: str, lines: int) -> StreamedMarkdown:
        if text != self._text:
            self._text = text
            self._parsed = Marked(recent(text))
        self._lines = lines
        return self

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rendered = console.render_lines(self._parsed, options.update(height=None), pad=False)
        for line in rendered[-self._lines :]:
            yield from line
            yield Segment.line()


def recent(text: str, size: int = RECENT_CHARS) -> str:
    """The end of a text from where a paragraph begins; inside a block of code, as such a block."""
    if len(text) <= size:
        return text
    cut = text.find("\n\n", len(text) - size)
    cut = len(text) - size if cut < 0 else cut + 2
    open_block = text.count("\n```", 0, cut) + text.startswith("```")
    return f"```\n{text[cut:]}" if open_block % 2 else text[cut:]


REFRESH_SECONDS = 0.05
"""Half of what a word may take to the screen."""
_OUTPUT_LINES = 4
_WRITING_LINES = 12
_STYLES = {"note": "dim", "warning": "yellow", "you": "bold green"}
_MARKS = {"note": "· ", "warning": "! ", "you": "> "}


class LiveDisplay:
    """Text of models and tools is shown as `Text` or `Markdown`, never parsed as rich's markup."""

    live = True

    def __init__(
        self,
        run_id: str,
        stream: TextIO,
        *,
        answer: TextIO | None = None,
        prompt: bool = False,
        past: Sequence[Record] = (),
    ) -> None:
        self.timeline = Timeline(run_id, past)
        self.console = Console(file=stream, highlight=False, markup=False)
        self._answer = answer
        self._prompt = prompt
        self._typed = ""
        self._asking = ""
        self._message = True
        """What is typed is a message to the run, not an answer."""
        self._streamed = StreamedMarkdown()
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(
            console=self.console,
            get_renderable=self._current,
            auto_refresh=False,
            transient=True,
            redirect_stdout=answer is None,
            redirect_stderr=answer is None,
        )
        self._live.start()
        # Not rich's own thread: two threads that draw at once erase each other's lines.
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            self._live.refresh()

    def feed(self, record: Record) -> None:
        for item in self.timeline.feed(record):
            self._show(item)

    def typed(self, text: str, *, message: bool = True) -> None:
        self._typed, self._message = text, message
        self._live.refresh()

    def ask(self, text: str = "", words: str = APPROVAL_WORDS) -> None:
        if text:
            self.console.print(Text(text, style="yellow"))
        self._asking = words if text else ""
        self._live.refresh()

    def say(self, text: str) -> None:
        self.console.print(Text(text, style="dim"))

    def finish(self, result: RunResult) -> None:
        self.close()
        succeeded = result.stop_reason in ("answer", "final_tool") and result.success
        line = ending(result.stop_reason, result.iterations, result.elapsed, spent(result.usage), result.run_id)
        self.console.print(Text.assemble(("✓ " if succeeded else "✗ ", "green" if succeeded else "red"), (line, "dim")))

    def close(self) -> None:
        self._ticking.cancel()
        self._live.stop()

    # ---- finished steps

    def _show(self, item: Item) -> None:
        self._live.refresh()  # so that a finished step is not also drawn as the current one
        if isinstance(item, Answer):
            self._show_answer(item)
            return
        body = _card(item, self.console.width - 2 * item.depth) if isinstance(item, Card) else _line(item)
        self.console.print(Padding(body, (0, 0, 0, 2 * item.depth)))

    def _show_answer(self, item: Answer) -> None:
        if item.source == "error":
            return
        if self._answer is not None:
            print(clean(item.text), file=self._answer, flush=True)
        else:
            self.console.print(Padding(Marked(clean(item.text)), (1, 0)))

    # ---- the current step

    def _current(self) -> RenderableType:
        timeline, width = self.timeline, max(20, self.console.width)
        rows: list[RenderableType] = []
        if text := timeline.streamed.strip():
            room = max(2, min(_WRITING_LINES, self.console.height - 8))
            if timeline.answering and self._answer is None:
                rows.append(self._streamed.of(clean(text), room))
            else:
                style = "" if timeline.answering else "dim italic"
                rows += [Text(f"  {line}", style=style, no_wrap=True) for line in last_lines(text, room, width - 4)]
        for card in timeline.running():
            rows.append(_head(card, width, "cyan"))
            rows += [
                Text(f"│ {line}", style="dim", no_wrap=True)
                for line in last_lines(card.call.output, _OUTPUT_LINES, width - 4)
                if line
            ]
        if self._asking:
            rows.append(Text(self._asking, style="bold yellow"))
            if self._typed and self._message:
                rows.append(Text(LINE_FIRST, style="yellow"))
        else:
            self._spinner.update(text=Text(self.timeline.status(), style="dim", no_wrap=True, overflow="ellipsis"))
            rows.append(self._spinner)
        if self._prompt or self._asking:
            mark = ("? ", "bold yellow") if self._asking and not self._message else ("> ", "bold green")
            rows.append(Text.assemble(mark, self._typed[-(width - 4) :], ("▏", "blink")))
        return Group(*rows)


def _line(item: Line) -> RenderableType:
    text = clean(item.text)
    if item.kind == "divider":
        return Rule(Text(text, style="dim"), style="dim")
    if item.kind == "thought":
        return Padding(Text(text, style="italic dim"), (0, 0, 0, 2))
    if item.kind == "plan":
        marks = {"[x]": ("☑", "dim"), "[ ]": ("☐", "")}
        lines = [(marks.get(line[:3], ("", "")), line[3:]) for line in text.split("\n")]
        return Group(*[Text(f"  {mark}{rest}", style=style) for (mark, style), rest in lines])
    return Text(_MARKS[item.kind] + text, style=_STYLES[item.kind])


def _head(card: Card, width: int, colour: str) -> Text:
    name = clean(card.call.tool)
    args = arguments(card.call.args, max(10, width - len(name) - 6))
    return Text.assemble(("╭ ", colour), (name, f"bold {colour}"), "  ", args, no_wrap=True)


def _card(card: Card, width: int) -> RenderableType:
    call = card.call
    colour = "red" if call.error else "cyan"
    rows: list[RenderableType] = [_head(card, width, colour)]
    lines = few_lines(observation(call), RESULT_LINES, max(10, width - 4))
    rows += [Text.assemble(("│ ", colour), line, no_wrap=True) for line in lines]
    error = f"{call.error} · " if call.error else ""
    rows.append(Text.assemble(("╰ ", colour), (error, colour), (seconds(call.elapsed), "dim")))
    return Group(*rows)
