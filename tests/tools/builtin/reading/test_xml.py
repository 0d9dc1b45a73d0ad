"""XML from untrusted servers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import ask
from treadle._tools.builtin.reading.xml import parse_xml, text_of
from treadle._tools.builtin.web.arxiv import arxiv
from treadle._types.errors import ToolError


def atom(text: str) -> Any:
    return lambda _: web.Response(text=text, content_type="application/atom+xml")


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]><feed>&j;</feed>"
)


OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><feed><entry><id>&a;</id></entry></feed>'


PARAMETER = '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;]><feed/>'


QUADRATIC = f'<!DOCTYPE x [<!ENTITY a "{"x" * 100_000}">]><feed>{"&a;" * 1000}</feed>'


@pytest.mark.parametrize(
    "document", [LAUGHS, OUTSIDE, PARAMETER, QUADRATIC], ids=["laughs", "outside", "parameter", "quadratic"]
)
def test_entities_are_refused(document: str):
    started = time.process_time()
    with pytest.raises(ToolError, match="declares XML entities"):
        ask(lambda url: arxiv(base_url=url), {"/": atom(document)}, query="x")
    assert time.process_time() - started < 2  # of CPU time; expanding them would take minutes


def test_broken_xml():
    for document in (
        b"<a>" * 100_000,
        b"<a><b></a>",
        b"",
        b"plain",
        b"<a>&undefined;</a>",
        b'<?xml version="1.0" encoding="nonsense"?><a/>',
        b"\xff\xfe",
    ):
        with row(document), pytest.raises(ToolError, match="XML"):
            parse_xml(document)


def test_namespaces_are_left_out():
    tree = parse_xml(b'<x:a xmlns:x="urn:1" x:k="v"><x:b>one <c>two</c></x:b></x:a>')
    assert (tree.tag, tree.get("k"), text_of(tree, "b")) == ("a", "v", "one two")
