"""Fetch a page and read it: the main text for the model, its links, and files as artifacts."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin.common import check_status, object_schema
from treadle._tools.builtin.http.client import Fetched, GuardedClient
from treadle._tools.builtin.reading.html import Link, read_html
from treadle._tools.builtin.reading.pdf import pdf_pages
from treadle._types.errors import MissingExtraError, ToolError
from treadle._types.events import Artifact

_TEXT = re.compile(r"text/|.*[/+](json|xml|yaml|javascript|x-yaml|x-ndjson|toml)$")


class Page(Struct, frozen=True, omit_defaults=True):
    url: str
    text: str
    title: str = ""
    type: str = ""
    """The content type, when it is no web page."""
    next_start: int = 0
    """Where the text goes on; 0 when this was the end."""
    links: tuple[Link, ...] = ()


def http_fetch(
    *,
    max_chars: int = 8_000,
    max_bytes: int = 5_000_000,
    timeout: float = 20.0,
    max_links: int = 20,
    allow_hosts: Iterable[str] = (),
    allow_private: bool = False,
    client: GuardedClient | None = None,
) -> Tool:
    """Fetches an http(s) address; pages become readable text, PDF text where the extra is installed, other files artifacts."""
    web = client or GuardedClient(
        allow_hosts=allow_hosts, allow_private=allow_private, timeout=timeout, max_bytes=max_bytes
    )

    async def execute(url: str, start: int = 0) -> Page | ToolResponse:
        answer = await web.get(
            _with_scheme(url.strip()), headers={"Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.8"}
        )
        check_status(answer, f"{urlsplit(answer.url).hostname}")
        page = await asyncio.to_thread(_read, answer, max_links)
        if page is None:
            return _as_artifact(answer)
        return _part(page, start, max_chars)

    return Tool(
        name="http_fetch",
        description="Fetch a web page or file from an http(s) address and return its readable text and links. Long texts come in parts.",
        parameters=object_schema(
            {
                "url": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 4_000,
                    "description": "The address, e.g. https://example.org/page",
                },
                "start": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "Go on from here: the next_start of an earlier call",
                },
            },
            ("url",),
        ),
        execute=execute,
        timeout=timeout + 10,
        effect="pure",
    )


def _with_scheme(url: str) -> str:
    """`example.org/page` and `example.org:8080` mean a web address; anything else with a colon says what it is."""
    return url if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", url) else f"https://{url}"


def _read(answer: Fetched, max_links: int) -> Page | None:
    """The whole page as text; None when it is a file that has none."""
    mime = answer.mime or ("application/octet-stream" if b"\0" in answer.body[:1024] else "text/plain")
    if mime in ("text/html", "application/xhtml+xml"):
        readable = read_html(answer.text, answer.url, max_links=max_links)
        return Page(url=answer.url, text=readable.text, title=readable.title, links=readable.links)
    if mime == "application/pdf":
        try:
            return Page(url=answer.url, text="\n\n".join(pdf_pages(answer.body)), type=mime)
        except MissingExtraError:
            return None
    return Page(url=answer.url, text=answer.text, type=mime) if _TEXT.match(mime) else None


def _part(page: Page, start: int, size: int) -> Page:
    total = len(page.text)
    if start and start >= total:
        raise ToolError(f"the text has {total} characters only: start must be below that")
    end = start + size
    return Page(
        url=page.url,
        text=page.text[start:end],
        title=page.title,
        type=page.type,
        next_start=end if end < total else 0,
        links=() if start else page.links,
    )


def _as_artifact(answer: Fetched) -> ToolResponse:
    name = PurePosixPath(unquote(urlsplit(answer.url).path)).name or "download"
    said = f"{answer.mime or 'binary'}, {len(answer.body)} bytes"
    if answer.mime == "application/pdf":
        said += ' (its text can be read after pip install "treadle[pdf]")'
    artifact = Artifact(
        name=name[:100], content=base64.b64encode(answer.body).decode(), mime=answer.mime, base64=True, summary=said
    )
    return ToolResponse(
        observation=Page(url=answer.url, text=f"A file without text: {said}", type=answer.mime), artifacts=(artifact,)
    )
