"""What reads text from outside takes a time that grows with its length, not with the square of it.

Every pattern of the source is found with how it is called, and tried with texts made from the pattern itself. Readers
that are written by hand are listed here, each with the texts that its kind of reader is slow for.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

import treadle
from safety.growth import patterns_in, texts_for, too_fast_growing
from treadle._dialects.reading.thinking import split_thinking
from treadle._dialects.registry import get_dialect
from treadle._models.transport.sse import SSEParser
from treadle._record.framing import Head
from treadle._safety.logs import process_redactor
from treadle._tools import results
from treadle._tools.docstring import parse_docstring
from treadle._tools.media.office import MAX_TEXT, office_text
from treadle._tools.skills.front_matter import parse
from treadle._types.errors import ConfigError
from treadle._types.request import Reply

DIALECTS = ("native", "json", "action", "array", "code")
"""The others read with the same readers."""
UNITS = ("\n", " ", "a", "{", "[", '"', "<", "```\n", "a(", "<think>", "</think>", "\\", "- ", '{"a":', "Action:", "[[")
"""What replies are made of, again and again."""


def headers(count: int) -> Head:
    return Head(b"HTTP/1.1 200 OK", tuple(b"x-%d: y" % number for number in range(count // 10)))


def skill(text: str) -> object:
    try:
        return parse(f'---\nname: a\ndescription: b\nallowed-tools: "{text}"\n---\nbody\n')
    except ConfigError:
        return None


def decode(name: str) -> Callable[[str], object]:
    return lambda text: get_dialect(name).decode(Reply(text), ())


def repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + unit * (size // len(unit)) + after


READERS: dict[str, tuple[Callable[[Any], object], list[Callable[[int], Any]]]] = {
    "a reply without its thoughts": (split_thinking, [repeated(unit) for unit in UNITS]),
    "the headers of a recorded response": (lambda head: head.headers(), [headers]),
    "the front matter of a skill": (skill, [repeated(unit) for unit in ("a(", "a ", "(", "-")]),
    "an event stream": (lambda data: SSEParser().feed(data), [
        lambda size: b"data: x\n" * (size // 8), lambda size: b"\n" * size, lambda size: b"data:" * (size // 5),
    ]),
    "a docstring": (parse_docstring, [repeated(unit) for unit in ("a:\n", "\n", " ", ":param a", "a(", "*")]),
    "secrets in a text": (process_redactor.text, [repeated(unit) for unit in ("a", "sk-", "=", "://", "key=", "@")]),
    **{
        f"a reply in the dialect {name}": (decode(name), [
            *(repeated(unit) for unit in UNITS),
            repeated("\n", "```python\nprint(1)\n```\n", "```python\nprint(2)\n```\n"),
        ])
        for name in DIALECTS
    },
}  # fmt: skip


def test_no_pattern_takes_the_square_of_a_text():
    uses = patterns_in(Path(treadle.__file__).parent)
    assert len(uses) > 250
    slow = {
        f"{use.where} {use.method}": f"{make(20)!r}: {grown}"
        for use in uses
        for make in texts_for(use)
        if (grown := too_fast_growing(use.reader(), make))
    }
    assert slow == {}


@pytest.mark.parametrize("name", READERS)
def test_no_reader_takes_the_square_of_a_text(name: str):
    read, texts = READERS[name]
    assert [grown for make in texts if (grown := too_fast_growing(read, make))] == []


def test_sheets_that_name_one_part_are_read_once():
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        rows = "<row><c><v>7</v></c></row>" + "<row></row>" * 1_000  # long to read, and nearly no text
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{rows}</sheetData></worksheet>")
        sheets = "".join(f'<sheet name="s{number}" r:id="r1"/>' for number in range(10_000))
        archive.writestr("xl/workbook.xml", f'<workbook xmlns:r="r"><sheets>{sheets}</sheets></workbook>')
        rels = '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>'
        archive.writestr("xl/_rels/workbook.xml.rels", rels)
    text = office_text(packed.getvalue())
    assert text.startswith("# s0\n7\n")
    assert text.endswith("[the rest of the file is left out]")
    assert len(text) < MAX_TEXT + 100


KINDS: dict[str, Callable[[str], Any]] = {
    "str": str, "bytes": lambda text: text.encode(), "part": lambda text: [results.TextPart(text)],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_result_is_cut_before_it_is_looked_at(kind: str):
    content, full, _ = results.render(KINDS[kind]("é" * (results.LARGEST * 5)), (), 1_000)
    assert full is not None
    assert len(full) <= results.LARGEST
    assert "characters left out" in str(content)
