"""The text of Word, Excel and PowerPoint files (docx, xlsx, pptx): zip archives of XML, read with bounds on everything.

Only text is read: no macros, no pictures, no links to other files. `file_worker.py` does it in a process of its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from zipfile import BadZipFile, ZipFile

from treadle._tools.builtin.reading.xml import feed_xml
from treadle._types.errors import ToolError

MAX_ENTRIES = 10_000
MAX_UNPACKED = 64_000_000
"""Bytes of all the parts of one file that are read: a few kilobytes of zip can unpack to gigabytes."""
MAX_TEXT = 2_000_000
"""Characters; what follows is left out, and the model is told."""
MAX_COLUMNS = 1_000
MAX_SHEETS = 1_000
_SLIDE = re.compile(r"ppt/slides/slide(\d{1,5})\.xml")
_LEFT_OUT = "\n[the rest of the file is left out]"


def office_text(data: bytes) -> str:
    """Return the text of an office file; `ToolError` for any other file, or one that asks for too much."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            package = _Package(archive)
            if "word/document.xml" in package.names:
                return _joined(_word(package))
            if "xl/workbook.xml" in package.names:
                return _joined(_excel(package))
            if "ppt/presentation.xml" in package.names:
                return _joined(_slides(package))
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise ToolError(f"the file is damaged or encrypted: {error}") from None
    raise ToolError("it is no Word, Excel or PowerPoint file")


class _Package:
    """The parts of a file by name, unpacked within a bound for all of them."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._left = MAX_UNPACKED
        infos = archive.infolist()
        if len(infos) > MAX_ENTRIES:
            raise ToolError(f"the file has {len(infos)} parts, and at most {MAX_ENTRIES} are read")
        self.names = {info.filename for info in infos}

    def read(self, name: str) -> bytes:
        """Return a part, empty if the file has no such part. The size in its header is not trusted."""
        if name not in self.names:
            return b""
        with self._archive.open(name) as part:
            data = part.read(self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise ToolError(f"the file unpacks to more than {MAX_UNPACKED // 1_000_000} MB")
        return data


def _joined(pieces: Iterator[str]) -> str:
    texts: list[str] = []
    length = 0
    for piece in pieces:
        texts.append(piece)
        length += len(piece)
        if length > MAX_TEXT:
            return "".join(texts)[:MAX_TEXT] + _LEFT_OUT
    return re.sub(r"\n{3,}", "\n\n", "".join(texts)).strip()


class _Reader:
    """Callbacks for the elements of a part, by name without a namespace."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.length = 0

    def add(self, text: str) -> None:
        self.texts.append(text)
        self.length += len(text)
        if self.length > MAX_TEXT:
            raise _Enough

    def start(self, tag: str, attrs: dict[str, str], /) -> None: ...
    def end(self, tag: str, /) -> None: ...
    def data(self, data: str, /) -> None: ...


class _Enough(Exception):
    """More text than is taken."""


def _parse(data: bytes, reader: _Reader) -> str:
    """Return the text that a reader collects from a part."""
    if data:
        with suppress(_Enough):
            feed_xml(data, reader, "the file")
    return "".join(reader.texts)


class _Words(_Reader):
    """Paragraphs of Word and PowerPoint: `t` is text, `p` a paragraph, `tc` a cell of a table, `tr` its row."""

    def __init__(self) -> None:
        super().__init__()
        self._in_text = False
        self._cells = 0

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        if name == "t":
            self._in_text = True
        elif name == "tc":
            self._cells += 1
        elif name == "tab" and not attributes:  # with attributes it is a tab stop of a style
            self.add("\t")
        elif name in ("br", "cr"):
            self.add("\n")
        elif name == "pStyle" and (level := re.fullmatch(r"Heading(\d)", attributes.get("val", ""))):
            self.add("#" * int(level[1]) + " ")

    def end(self, name: str, /) -> None:
        if name == "t":
            self._in_text = False
        elif name == "p":
            self.add(" " if self._cells else "\n")
        elif name == "tc":
            self._cells -= 1
            self.add("| ")
        elif name == "tr":
            self.add("\n")

    def data(self, text: str, /) -> None:
        if self._in_text:
            self.add(text)


class _Strings(_Reader):
    """The texts that the cells of a workbook share: each `si` is one."""

    def __init__(self) -> None:
        super().__init__()
        self.strings: list[str] = []
        self._in_text = self._phonetic = False

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        self._in_text = name == "t" and not self._phonetic
        self._phonetic = self._phonetic or name == "rPh"

    def end(self, name: str, /) -> None:
        self._in_text = False
        if name == "rPh":
            self._phonetic = False
        elif name == "si":
            self.strings.append("".join(self.texts))
            self.texts.clear()

    def data(self, text: str, /) -> None:
        if self._in_text:
            self.add(text)


class _Sheet(_Reader):
    """The rows of a sheet, with commas between the cells and empty ones in their places."""

    def __init__(self, strings: list[str]) -> None:
        super().__init__()
        self._strings = strings
        self._row: dict[int, str] = {}
        self._kind, self._column, self._value = "", 0, ""
        self._in_value = False

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        if name == "row":
            self._row = {}
        elif name == "c":
            place = _column(attributes.get("r", ""))
            self._column = place if place is not None else self._column + 1 if self._row else 0
            self._kind, self._value = attributes.get("t", ""), ""
        self._in_value = name in ("v", "t")

    def end(self, name: str, /) -> None:
        self._in_value = False
        if name == "c" and self._value and self._column < MAX_COLUMNS:
            self._row[self._column] = _quoted(self._shown())
        elif name == "row" and self._row:
            self.add(",".join(self._row.get(index, "") for index in range(max(self._row) + 1)) + "\n")

    def data(self, text: str, /) -> None:
        if self._in_value:
            self._value += text

    def _shown(self) -> str:
        if self._kind == "s":
            number = int(self._value) if self._value.isascii() and self._value.isdigit() else -1
            return self._strings[number] if 0 <= number < len(self._strings) else ""
        return {"0": "FALSE", "1": "TRUE"}.get(self._value, self._value) if self._kind == "b" else self._value


def _column(place: str) -> int | None:
    """The number of a cell's column, from a place such as `AB12`."""
    letters = re.match(r"[A-Z]{1,3}", place)
    if letters is None:
        return None
    number = 0
    for letter in letters[0]:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\n]', text) else text


class _Attributes(_Reader):
    """The attributes of all elements of one name."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self._wanted = wanted
        self.elements: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str], /) -> None:
        if name == self._wanted:
            self.elements.append(attributes)


def _word(package: _Package) -> Iterator[str]:
    yield _parse(package.read("word/document.xml"), _Words())
    if notes := _parse(package.read("word/footnotes.xml"), _Words()).strip():
        yield f"\n\nFootnotes:\n{notes}"


def _excel(package: _Package) -> Iterator[str]:
    shared = _Strings()
    _parse(package.read("xl/sharedStrings.xml"), shared)
    targets, sheets = _Attributes("Relationship"), _Attributes("sheet")
    _parse(package.read("xl/_rels/workbook.xml.rels"), targets)
    _parse(package.read("xl/workbook.xml"), sheets)
    paths = {element.get("Id", ""): element.get("Target", "") for element in targets.elements}
    texts: dict[str, str] = {}
    for sheet in sheets.elements[:MAX_SHEETS]:
        path = paths.get(sheet.get("id", ""), "")
        name = path.lstrip("/") if path.startswith("/") else f"xl/{path}"
        if name not in texts:  # sheets may name the same part
            texts[name] = _parse(package.read(name), _Sheet(shared.strings))
        yield f"# {sheet.get('name', '')}\n{texts[name]}\n"
    if len(sheets.elements) > MAX_SHEETS:
        yield _LEFT_OUT


def _slides(package: _Package) -> Iterator[str]:
    numbers = sorted(int(slide[1]) for name in package.names if (slide := _SLIDE.fullmatch(name)))
    for number in numbers:
        yield f"# Slide {number}\n{_parse(package.read(f'ppt/slides/slide{number}.xml'), _Words())}\n"
