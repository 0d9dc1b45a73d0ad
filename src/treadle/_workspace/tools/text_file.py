"""A text file as bytes keep it: what an edit does not touch stays as it is, with its encoding and line ends."""

from __future__ import annotations

import codecs
import difflib
from bisect import bisect_left

from msgspec import Struct

from treadle._types.errors import ToolError

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DIFF_LINES = 60
_DIFF_CHARS = 6_000


class Replacement(Struct, frozen=True):
    old: str
    new: str
    all: bool = False
    """Every place, instead of the only one."""


class TextFile(Struct, frozen=True):
    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def line_end(self) -> str:
        """Return what most lines end with."""
        windows = self.text.count("\r\n")
        return "\r\n" if windows * 2 > self.text.count("\n") else "\n"

    @property
    def shown(self) -> str:
        """Return the text with the line ends that a model writes."""
        return self.text.replace("\r\n", "\n")

    def encoded(self, text: str) -> bytes:
        """Return another text as the bytes of this file."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = text[error.start : error.start + 1]
            raise ToolError(f"the file is written in {self.encoding}, which has no {bad!r}") from None

    def with_line_ends(self, text: str) -> str:
        """Return a text as this file would end its lines."""
        text = text.replace("\r\n", "\n")
        return text.replace("\n", "\r\n") if self.line_end == "\r\n" else text

    def replaced(self, change: Replacement) -> TextFile:
        """Return the file with one place changed, or each; `old` must stand there exactly, and once unless `all`."""
        old, new = change.old.replace("\r\n", "\n"), self.with_line_ends(change.new)
        if not old:
            raise ToolError("old is empty: give the text to replace, or write the whole file with write")
        if change.old == change.new:
            raise ToolError("old and new are the same")
        plain = self.shown
        starts = _places(plain, old)
        if not starts:
            raise ToolError(_not_found(plain, old))
        if len(starts) > 1 and not change.all:
            lines = ", ".join(str(plain.count("\n", 0, start) + 1) for start in starts[:5])
            raise ToolError(
                f"old stands in {len(starts)} places (lines {lines}): give more of the text around it, or all=true"
            )
        # Positions count from the text without "\r": each one before a position moves it by one.
        returns = _line_ends_of_two(self.text)
        pieces: list[str] = []
        end = 0
        for start in starts:
            pieces += [self.text[end : start + bisect_left(returns, start)], new]
            end = start + len(old) + bisect_left(returns, start + len(old))
        return TextFile("".join((*pieces, self.text[end:])), self.encoding, self.mark)


def read_text(data: bytes) -> TextFile | None:
    """Return the text of a file in the first encoding that gives its bytes back exactly; None where it is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return TextFile(data[len(mark) :].decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                return None
    if b"\0" in data[:8192]:
        return None
    try:
        return TextFile(data.decode())
    except UnicodeDecodeError:
        return TextFile(data.decode("latin-1"), "latin-1")


def difference(before: str, after: str, name: str) -> str:
    """Return what changed, as a short unified difference."""
    old, new = (text.replace("\r\n", "\n").splitlines() for text in (before, after))
    lines = list(difflib.unified_diff(old, new, name, name, lineterm="", n=2))
    shown = "\n".join(lines[:_DIFF_LINES])
    if len(shown) > _DIFF_CHARS:
        shown = shown[:_DIFF_CHARS]
    return shown if shown == "\n".join(lines) else f"{shown}\n[... {len(lines)} lines in all]"


def _places(text: str, old: str) -> list[int]:
    places: list[int] = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _line_ends_of_two(text: str) -> list[int]:
    """Return where, in the text without "\\r", each "\\n" stands that had one before it."""
    places: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = text.find("\r\n", at + 2)
    return places


def _not_found(text: str, old: str) -> str:
    """Say why a text was not found, with the lines that are most like it."""
    squeezed = " ".join(old.split())
    if squeezed and squeezed in " ".join(text.split()):
        return "old does not stand in the file: only its spaces or line breaks differ; copy them exactly from the file"
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    lines = text.splitlines()
    near = difflib.get_close_matches(first, [line.strip() for line in lines[:5_000]], 1, 0.7)
    if not near:
        return "old does not stand in the file: read it again"
    number = next(index for index, line in enumerate(lines, 1) if line.strip() == near[0])
    return f"old does not stand in the file; line {number} is the most like it: {near[0][:200]}"
