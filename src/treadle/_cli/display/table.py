"""Tables as plain text that fit the width of the terminal."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence

from treadle._cli.display.text import clean


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, stretch: int = -1, right: Sequence[int] = ()) -> str:
    """Aligned columns. The column `stretch` is cut so that a line fits; those in `right` are aligned right."""
    cells = [[" ".join(clean(cell).split()) for cell in row] for row in (head, *rows)]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(head))]
    stretch %= len(head)
    fixed = sum(widths) - widths[stretch] + 2 * (len(head) - 1)
    widths[stretch] = max(10, min(widths[stretch], shutil.get_terminal_size((120, 24)).columns - fixed))
    lines: list[str] = []
    for row in cells:
        parts = [_fit(cell, widths[column], column in right) for column, cell in enumerate(row)]
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
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
