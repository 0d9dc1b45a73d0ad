"""The text of files, also of hostile ones."""

from __future__ import annotations

import zlib

import pytest

from treadle._tools.media import reading
from treadle._tools.media.reading import text_of_file
from treadle._types.errors import ToolError

pytest.importorskip("pypdf")


def pdf(stream: bytes, extra: bytes = b"") -> bytes:
    """A PDF of one page with this content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(stream), extra, stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = b"%PDF-1.4\n", list[int]()
    for number, text in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(out)
    return out + b"xref\n0 6\n0000000000 65535 f \n%btrailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        start,
    )


HELLO = pdf(b"BT /F1 12 Tf 20 100 Td (Hello from page one) Tj ET")


def test_the_text_of_a_pdf():
    assert text_of_file("pdf", HELLO) == "Hello from page one"


def test_a_text_file_is_decoded_and_cut():
    assert text_of_file("text", "Zoë".encode()) == "Zoë"
    assert "characters left out" in text_of_file("text", b"word " * 1000, 500)


def test_nothing_to_read():
    for data in (pdf(b"q Q"), b"%PDF-1.4 broken"):
        with pytest.raises(ToolError):
            text_of_file("pdf", data)


def test_a_pdf_that_unpacks_to_far_more_than_it_has_ends_in_an_error():
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(100)) + packer.flush()
    bomb = pdf(zlib.compress(packed, 9), b"/Filter [/FlateDecode /FlateDecode]")
    assert len(bomb) < 10_000
    with pytest.raises(ToolError):
        text_of_file("pdf", bomb)


def test_a_pdf_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "SECONDS", 0.001)
    with pytest.raises(ToolError, match="took more than"):
        text_of_file("pdf", HELLO)
