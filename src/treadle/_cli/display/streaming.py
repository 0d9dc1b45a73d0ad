"""An answer while it is written, drawn as markdown: what would scroll off the screen is left out."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown
from rich.segment import Segment

RECENT_CHARS = 6_000
"""Of a longer text only so much is drawn again and again: a screen has no room for more."""


class StreamedMarkdown:
    """The last lines of a text that grows. It is parsed again only when it has changed."""

    def __init__(self) -> None:
        self._text = ""
        self._parsed = Markdown("")
        self._lines = 0

    def of(self, text: str, lines: int) -> StreamedMarkdown:
        if text != self._text:
            self._text = text
            # Links are written out: the text of a link need not be its target.
            self._parsed = Markdown(recent(text), hyperlinks=False)
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
