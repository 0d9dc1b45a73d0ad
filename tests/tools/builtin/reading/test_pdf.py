"""The text of PDF files."""

from __future__ import annotations

import pytest

from kit import row
from tools.builtin.pdf_file import make_pdf
from treadle._tools.builtin.reading import pdf
from treadle._tools.builtin.reading.pdf import pdf_pages
from treadle._types.errors import ToolError

pytest.importorskip("pypdf")


def test_each_page_has_its_text():
    assert pdf_pages(make_pdf(["first page", "second page"])) == ["first page", "second page"]


def test_only_so_many_pages_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    assert pdf_pages(make_pdf(["a", "b", "c"])) == ["a", "b"]


def test_a_broken_file_is_refused():
    for data in (b"", b"plain text", b"%PDF-1.4\nbroken"):
        with row(data), pytest.raises(ToolError, match="the PDF cannot be read"):
            pdf_pages(data)
