"""The text of office files, also of hostile ones."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from kit import row
from treadle._tools.media import office
from treadle._tools.media.office import office_text
from treadle._tools.media.reading import text_of_file
from treadle._types.errors import ToolError

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def packed(parts: dict[str, str | bytes]) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def docx(body: str) -> bytes:
    return packed({"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>"})


def paragraph(text: str, style: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(rows: str, strings: str = "") -> bytes:
    return packed(
        {
            "xl/workbook.xml": f'<workbook {S} {R}><sheets><sheet name="People" r:id="rId7"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": '<R><Relationship Id="rId7" Target="worksheets/sheet1.xml"/></R>',
            "xl/sharedStrings.xml": f"<sst {S}>{strings}</sst>",
            "xl/worksheets/sheet1.xml": f"<worksheet {S}><sheetData>{rows}</sheetData></worksheet>",
        }
    )


def test_paragraphs_headings_and_tables_of_a_letter():
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    table = f"<w:tbl><w:tr>{cell.format('city')}{cell.format('people')}</w:tr></w:tbl>"
    deleted = "<w:p><w:del><w:r><w:delText>not this</w:delText></w:r></w:del></w:p>"
    body = paragraph("Report", "Heading1") + paragraph("One &amp; <![CDATA[two]]>") + deleted + table
    assert office_text(docx(body)) == "# Report\nOne & two\n\ncity | people |"


def test_the_rows_of_a_workbook():
    strings = "<si><t>city</t></si><si><r><t>Bern, </t></r><r><t>CH</t></r><rPh><t>x</t></rPh></si>"
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>people</t></is></c></row>'
        '<row r="2"><c t="s"><v>1</v></c><c t="b"><v>1</v></c><c><f>A1*2</f><v>134591</v></c></row>'
        '<row r="3"><c t="s"><v>99</v></c></row>'
    )
    assert office_text(xlsx(rows, strings)) == '# People\ncity,,people\n"Bern, CH",TRUE,134591'


def test_the_slides_of_a_talk_in_their_order():
    slide = f"<p:sld xmlns:p='p' {A}><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></p:sld>"
    parts = {f"ppt/slides/slide{number}.xml": slide.format(f"page {number}") for number in (10, 2, 1)}
    text = office_text(packed({"ppt/presentation.xml": "<p/>", **parts}))
    assert text.split("\n\n") == ["# Slide 1\npage 1", "# Slide 2\npage 2", "# Slide 10\npage 10"]


def test_it_is_read_in_a_process_of_its_own():
    assert text_of_file("office", docx(paragraph("Hello"))) == "Hello"
    with pytest.raises(ToolError, match="no Word, Excel or PowerPoint"):
        text_of_file("office", packed({"a.txt": "x"}))
    with pytest.raises(ToolError, match="no Word, Excel or PowerPoint"):
        text_of_file("office", b"\xd0\xcf\x11\xe0")


def bomb() -> bytes:
    """Some kilobytes that unpack to gigabytes."""
    return packed({"word/document.xml": b" " * (office.MAX_UNPACKED + 1_000)})


def flagged() -> bytes:
    """With the mark of an encrypted part."""
    data = bytearray(docx(paragraph("x")))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'


def test_a_hostile_file_ends_in_an_error():
    for data, reason in (
        (b"PK\x03\x04 broken", "damaged"),
        (b"", "damaged"),
        (flagged(), "encrypted"),
        (docx(paragraph("x"))[:-40], "damaged"),
        (packed({"word/document.xml": "<w:document"}), "damaged"),
        (packed({"word/document.xml": f"{LAUGHS}<x>&b;</x>"}), "entities"),
        (packed({"word/document.xml": "<a>" * 600}), "nested more than"),
        (packed({f"{number}": "" for number in range(office.MAX_ENTRIES + 1)}), "parts"),
        (bomb(), "unpacks to more than 64 MB"),
    ):
        with row(data, reason), pytest.raises(ToolError, match=reason):
            office_text(data)


def test_a_long_one_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(office, "MAX_TEXT", 1_000)
    text = office_text(docx(paragraph("word " * 50) * 100))
    assert len(text) < 2_000
    assert text.endswith("[the rest of the file is left out]")


def test_a_cell_far_to_the_right_costs_nothing():
    rows = '<row><c r="XFD1"><v>1</v></c><c r="A1"><v>2</v></c></row>' * 1_000
    assert len(office_text(xlsx(rows))) < 10_000
