"""Reads documents (plain text, Markdown, HTML, PDF, office files) and splits their text into chunks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from treadle._models.media import OFFICE
from treadle._tools.builtin.reading.charset import decode_text
from treadle._tools.builtin.reading.html import read_html
from treadle._tools.builtin.reading.pdf import pdf_pages
from treadle._tools.media.reading import text_of_file
from treadle._types.errors import ToolError

SUFFIXES = frozenset({".txt", ".md", ".markdown", ".rst", ".text", ".html", ".htm", ".pdf", *OFFICE})
MAX_FILE = 50_000_000

_SENTENCE_END = re.compile(r"[.!?]['\")\]]?\s|[\u3002\uff01\uff1f]|\n")
_HEADING = re.compile(r"(#{1,6})\s+(.{1,200})")


class Text(Struct, frozen=True):
    """A document's text; `pages` are the offsets where its pages start, if it has pages."""

    title: str
    text: str
    pages: tuple[int, ...] = ()


class Piece(Struct, frozen=True):
    start: int
    end: int
    heading: str = ""


def load(path: Path) -> Text:
    """Read a file by its suffix; a file with another suffix is read as plain text."""
    if path.stat().st_size > MAX_FILE:
        raise ToolError(f"{path.name} is larger than {MAX_FILE} bytes")
    data = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        pages = pdf_pages(data)
        offsets = [0]
        for page in pages[:-1]:
            offsets.append(offsets[-1] + len(page) + 2)
        return Text(path.stem, "\n\n".join(pages), tuple(offsets))
    if suffix in OFFICE:
        return Text(path.stem, text_of_file("office", data))
    text = decode_text(data)
    if "\0" in text[:8192]:
        raise ToolError(f"{path.name} is not a text file")
    if suffix in (".html", ".htm"):
        page = read_html(text)
        return Text(page.title or path.stem, page.text)
    heading = _HEADING.match(text.lstrip())
    return Text(heading[2].strip() if heading else path.stem, text)


def split(text: str, size: int, overlap: int) -> list[Piece]:
    """Chunks of about `size` characters that end at the end of paragraphs; a heading starts a new one."""
    pieces: list[Piece] = []
    headings: list[tuple[int, str]] = []
    open_blocks: list[tuple[int, int]] = []
    heading = ""

    def close() -> None:
        if open_blocks:
            pieces.append(Piece(open_blocks[0][0], open_blocks[-1][1], heading))

    for start, end in _blocks(text, size):
        mark = _HEADING.match(text, start, end)
        first = open_blocks[0][0] if open_blocks else start
        if end - first > (size // 3 if mark else size):
            close()
            last = open_blocks[-1] if open_blocks else (0, 0)
            keeps = not mark and 0 < last[1] - last[0] <= overlap and end - last[0] <= size
            open_blocks = [last] if keeps else []
        if mark:
            level = len(mark[1])
            headings = [*(step for step in headings if step[0] < level), (level, mark[2].strip())]
        if not open_blocks or mark:
            heading = " > ".join(name for _, name in headings)
        open_blocks.append((start, end))
    close()
    return pieces


def _blocks(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Paragraphs as (start, end); a heading is one of its own, and a long paragraph is split at its sentences."""
    start, end, at = -1, 0, 0
    for line in text.splitlines(keepends=True):
        blank, is_heading = not line.strip(), _HEADING.match(line) is not None
        if start >= 0 and (blank or is_heading):
            yield from _split_paragraph(text, start, end, size)
            start = -1
        if is_heading:
            yield at, at + len(line.rstrip())
        elif not blank:
            start, end = at if start < 0 else start, at + len(line.rstrip())
        at += len(line)
    if start >= 0:
        yield from _split_paragraph(text, start, end, size)


def _split_paragraph(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    while end - start > size:
        stops = [match.end() for match in _SENTENCE_END.finditer(text, start + size // 3, start + size)]
        space = text.rfind(" ", start + size // 3, start + size)
        stop = stops[-1] if stops else space + 1 if space > 0 else start + size
        yield start, stop
        start = stop
    if start < end:
        yield start, end
