"""Texts split into chunks."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tools.media.test_office import docx, paragraph
from treadle._tools.builtin.knowledge.base import KnowledgeBase
from treadle._tools.builtin.knowledge.documents import split


@given(st.text("ab. \n#", max_size=700) | st.text(max_size=200), st.integers(20, 300), st.integers(0, 100))
def test_chunks_cover_the_text_in_order_and_stay_in_size(text: str, size: int, overlap: int):
    pieces = split(text, size, overlap)
    covered = set[int]()
    for piece in pieces:
        assert 0 <= piece.start < piece.end <= len(text)
        assert piece.end - piece.start <= max(size, 220), "a heading alone may be longer"
        covered.update(range(piece.start, piece.end))
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
    missed = "".join(char for index, char in enumerate(text) if index not in covered)
    assert missed.strip() == ""


def test_one_long_line_without_blanks():
    text = "x" * 10_000
    pieces = split(text, 1_000, 100)
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text


def test_office_files_are_documents(tmp_path: Path):
    (tmp_path / "report.docx").write_bytes(docx(paragraph("Rain on twelve days of May")))
    (tmp_path / "broken.xlsx").write_bytes(b"no zip")
    base = KnowledgeBase(tmp_path / "kb.db")
    added = {Path(one.name).name: one.problem for one in base.add(tmp_path)}
    assert added["report.docx"] == ""
    assert "no Word, Excel or PowerPoint file" in added["broken.xlsx"]
    assert [chunk.text for chunk in base.search("rain in May")] == ["Rain on twelve days of May"]
