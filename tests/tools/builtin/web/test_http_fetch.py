"""Pages as text, files as artifacts, and pages that mean harm."""

from __future__ import annotations

import asyncio
import base64
import sys
from typing import Any

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import serving, use
from tools.builtin.pdf_file import make_pdf
from treadle._tools.base import ToolResponse
from treadle._tools.builtin.web.http_fetch import http_fetch
from treadle._types.errors import ToolError


def fetch(pages: dict[str, Any], path: str = "/", **args: Any) -> Any:
    async def main() -> Any:
        async with serving(pages) as site:
            options = {
                name: args.pop(name) for name in ("max_chars", "max_bytes", "timeout", "max_links") if name in args
            }
            return await use(http_fetch(allow_hosts=["127.0.0.1"], **options), url=site.url + path, **args)

    return asyncio.run(main())


def test_long_pages_come_in_parts():
    text = " ".join(f"word{n}" for n in range(2000))
    pages = {"/": f"<p>{text}</p>"}
    parts, start = [], 0
    while True:
        page = fetch(pages, start=start, max_chars=5_000)
        parts.append(page.text)
        start = page.next_start
        if not start:
            break
    assert "".join(parts) == text
    with pytest.raises(ToolError, match="only 16889 characters"):
        fetch(pages, start=999_999)


def test_text_and_json_come_as_they_are():
    assert fetch({"/": {"a": [1, 2]}}).text == '{"a": [1, 2]}'
    assert fetch({"/": lambda _: web.Response(text="a < b")}).text == "a < b"


def test_files_become_artifacts():
    image = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    answer = fetch({"/cat.png": lambda _: web.Response(body=image, content_type="image/png")}, "/cat.png")
    assert isinstance(answer, ToolResponse)
    (artifact,) = answer.artifacts
    assert (artifact.name, artifact.mime, base64.b64decode(artifact.content)) == ("cat.png", "image/png", image)
    assert "image/png" in answer.observation.text


def test_pdf_is_read():
    pytest.importorskip("pypdf")
    page = fetch(
        {"/a.pdf": lambda _: web.Response(body=make_pdf(["Page one", "Page two"]), content_type="application/pdf")},
        "/a.pdf",
    )
    assert page.text == "Page one\n\nPage two"
    with pytest.raises(ToolError, match="PDF cannot be read"):
        fetch({"/a.pdf": lambda _: web.Response(body=b"%PDF-1.7 broken", content_type="application/pdf")}, "/a.pdf")


def test_pdf_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    answer = fetch({"/a.pdf": lambda _: web.Response(body=b"%PDF-1.4", content_type="application/pdf")}, "/a.pdf")
    assert "treadle[pdf]" in answer.observation.text
    assert answer.artifacts[0].mime == "application/pdf"


@pytest.mark.parametrize(("status", "message"), [(404, "HTTP 404"), (500, "HTTP 500"), (429, "too many requests")])
def test_errors_are_reported(status: int, message: str):
    with pytest.raises(ToolError, match=message):
        fetch({"/": lambda _: web.Response(status=status, text="<b>sorry</b>")})


async def test_the_guard_is_on_by_default():
    async with serving({"/": "inside"}) as site:
        with pytest.raises(ToolError, match="not a public address"):
            await use(http_fetch(), url=site.url)
        assert site.requests == []


def test_addresses_without_a_scheme():
    for url, message in (
        ("localhost:8080/x", "not a public"),
        ("file:/etc/passwd", "only http"),
        ("javascript:alert(1)", "only http"),
        ("127.0.0.1", "not a public"),
    ):
        with row(url, message), pytest.raises(ToolError, match=message):
            asyncio.run(use(http_fetch(), url=url))


def test_a_page_larger_than_the_limit():
    with pytest.raises(ToolError, match="larger than 10000 bytes"):
        fetch({"/": "x" * 20_000}, max_bytes=10_000)
