"""Fetches a web page as readable text with its links; other files become artifacts."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import unquote, urlsplit

from msgspec import Meta, Struct
from msgspec.structs import replace

from treadle._safety.bounds import Amount, Count, Seconds, bounded
from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin.common import check_status
from treadle._tools.builtin.http.client import GuardedClient, HttpResponse, LeadsElsewhere
from treadle._tools.builtin.reading.html import Link, read_html
from treadle._tools.builtin.reading.pdf import pdf_pages
from treadle._tools.function import tool
from treadle._types.errors import MissingExtraError, ToolError
from treadle._types.events import Artifact

_TEXT = re.compile(r"text/|.*[/+](json|xml|yaml|javascript|x-yaml|x-ndjson|toml)$")
_Address = Annotated[
    str, Meta(min_length=1, max_length=4_000, description="The address, e.g. https://example.org/page")
]
_Start = Annotated[int, Meta(ge=0, description="Go on from here: the next_start of an earlier call")]


class Page(Struct, frozen=True, omit_defaults=True):
    url: str
    text: str
    title: str = ""
    type: str = ""
    """The content type, if it is not a web page."""
    next_start: int = 0
    """Where the text continues; 0 at its end."""
    links: tuple[Link, ...] = ()


@bounded
def http_fetch(
    *,
    max_chars: Count = 8_000,
    max_bytes: Count = 5_000_000,
    timeout: Seconds = 20.0,
    max_links: Amount = 20,
    allow_hosts: Iterable[str] = (),
    allow_private: bool = False,
    client: GuardedClient | None = None,
) -> Tool:
    """Fetches an http(s) address: web pages as readable text, PDF as text (with the extra), files as artifacts."""
    web = client or GuardedClient(
        allow_hosts=allow_hosts, allow_private=allow_private, timeout=timeout, max_bytes=max_bytes
    )

    @tool(effect="pure", timeout=timeout + 10, untrusted="{url}")
    async def http_fetch(url: _Address, start: _Start = 0) -> Page | ToolResponse:
        """Fetch a web page or file from an http(s) address and return its readable text and links. Long texts come in
        parts."""
        # `example.org/page` and `example.org:8080` get https; an address with a scheme stays as it is.
        url = url.strip() if re.match(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)", url) else f"https://{url.strip()}"
        accept = {"Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.8"}
        try:
            response = await web.get(url, headers=accept, leave=False)
        except LeadsElsewhere as redirect:
            return ToolResponse(str(redirect), instead={"url": redirect.url})
        check_status(response, f"{urlsplit(response.url).hostname}")
        page = await asyncio.to_thread(_read, response, max_links)
        if page is None:
            return _as_artifact(response)
        return _part(page, start, max_chars)

    return http_fetch


def _read(response: HttpResponse, max_links: int) -> Page | None:
    """The complete page as text; None for a file without text."""
    mime = response.mime or ("application/octet-stream" if b"\0" in response.body[:1024] else "text/plain")
    if mime in ("text/html", "application/xhtml+xml"):
        readable = read_html(response.text, response.url, max_links=max_links)
        return Page(url=response.url, text=readable.text, title=readable.title, links=readable.links)
    if mime == "application/pdf":
        try:
            return Page(url=response.url, text="\n\n".join(pdf_pages(response.body)), type=mime)
        except MissingExtraError:
            return None
    return Page(url=response.url, text=response.text, type=mime) if _TEXT.match(mime) else None


def _part(page: Page, start: int, size: int) -> Page:
    total = len(page.text)
    if start and start >= total:
        raise ToolError(f"the text has only {total} characters: start must be less than that")
    end = start + size
    next_start, links = end if end < total else 0, () if start else page.links
    return replace(page, text=page.text[start:end], next_start=next_start, links=links)


def _as_artifact(response: HttpResponse) -> ToolResponse:
    name = PurePosixPath(unquote(urlsplit(response.url).path)).name or "download"
    size = f"{response.mime or 'binary'}, {len(response.body)} bytes"
    if response.mime == "application/pdf":
        size += ' (its text can be read after pip install "treadle[pdf]")'
    artifact = Artifact(
        name=name[:100], content=base64.b64encode(response.body).decode(), mime=response.mime, base64=True, summary=size
    )
    return ToolResponse(
        observation=Page(url=response.url, text=f"A file without text: {size}", type=response.mime),
        artifacts=(artifact,),
    )
