"""Tables as plain text that fit the width of the terminal."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Sequence

from treadle._cli.display.text import clean

_LEAST = 24
"""A column narrower than this cannot be read: the cells of a row are written below each other instead."""
_MOST_LINES = 3


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, stretch: int = -1, right: Sequence[int] = ()) -> str:
    """Aligned columns. The column `stretch` is cut so that a line fits; those in `right` are aligned right.

    Where the terminal has no room for that, each row is a few lines. Without a `head`, there are only rows.
    """
    cells = [[" ".join(clean(cell).split()) for cell in row] for row in ((head, *rows) if head else rows)]
    if not cells:
        return ""
    widths = [max(_width(row[column]) for row in cells) for column in range(len(cells[0]))]
    stretch %= len(widths)
    room = shutil.get_terminal_size((120, 24)).columns
    left = room - (sum(widths) - widths[stretch] + 2 * (len(widths) - 1))
    if left < (min(widths[stretch], _LEAST) if head else widths[stretch]):  # without a head nothing is cut: it is help
        return _below_each_other(cells, stretch, max(20, room), bool(head))
    widths[stretch] = min(widths[stretch], left)
    lines: list[str] = []
    for row in cells:
        parts = [_fit(cell, widths[column], column in right) for column, cell in enumerate(row)]
        lines.append("  ".join(parts).rstrip())
    if head:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _below_each_other(cells: list[list[str]], stretch: int, room: int, head: bool) -> str:
    """The short cells of a row in one line, the long one indented below."""
    lines: list[str] = []
    for number, row in enumerate(cells):
        short = " · ".join(cell for column, cell in enumerate(row) if cell and column != stretch)
        lines += textwrap.wrap(short, room, subsequent_indent="  ")
        lines += [
            f"  {line}" for line in textwrap.wrap(row[stretch], room - 2, max_lines=_MOST_LINES, placeholder=" …")
        ]
        if head and number == 0:
            lines.append("-" * room)
    return "\n".join(lines)


def _fit(text: str, width: int, right: bool) -> str:
    while _width(text) > width:
        text = text[: -2 if text.endswith("…") else -1] + "…"
    return " " * (width - _width(text)) + text if right else text + " " * (width - _width(text))


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
