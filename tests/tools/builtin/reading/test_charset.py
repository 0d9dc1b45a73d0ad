"""Bytes of unknown encoding as text."""

from __future__ import annotations

from treadle._tools.builtin.reading.charset import decode_text


def test_text_is_decoded_by_what_it_says_of_itself():
    for body, header, text in (
        ("grün".encode(), "text/html; charset=utf-8", "grün"),
        ("grün".encode("latin-1"), "text/html; charset=ISO-8859-1", "grün"),
        ("\ufeffgrün".encode(), "text/html; charset=latin-1", "grün"),
        ("grün".encode("utf-16"), "", "grün"),
        (b'<meta charset="windows-1252">\x80', "text/html", '<meta charset="windows-1252">€'),
        (b'<?xml version="1.0" encoding="latin-1"?>\xe4', "", '<?xml version="1.0" encoding="latin-1"?>ä'),
        ("你好".encode("gb18030"), "text/html; charset=gb18030", "你好"),
        (b"abc", "text/html; charset=punycode", "abc"),
        (b"abc", "text/html; charset=zlib", "abc"),
        (b"abc", "text/html; charset=no-such", "abc"),
        (b"\xff\x00", "", "\ufffd\x00"),
    ):
        assert decode_text(body, header) == text, body
