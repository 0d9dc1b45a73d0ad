"""Wikipedia: search for pages and read their introductions, or read one page in full."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import client_for, clip, read_as
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.function import tool
from treadle._types.errors import ToolError


class Article(Struct, frozen=True, omit_defaults=True):
    title: str
    url: str
    text: str
    next_start: int = 0
    """Where the text continues, when a page is read in full; 0 at its end."""


class WikipediaResult(Struct, frozen=True):
    articles: tuple[Article, ...]


class _Page(Struct):
    title: str
    fullurl: str = ""
    extract: str = ""
    index: int = 0
    missing: bool = False


class _Query(Struct):
    pages: tuple[_Page, ...] = ()


class _Response(Struct):
    query: _Query | None = None
    error: dict[str, Any] | None = None


_Words = Annotated[str, Meta(max_length=300, description="What to look for")]
_Title = Annotated[str, Meta(max_length=255, description="Exact title of a page to read in full")]
_Start = Annotated[int, Meta(ge=0, description="Go on reading the page from here")]
_FIXED_PARAMS: dict[str, str | int] = {
    "action": "query",
    "format": "json",
    "formatversion": 2,
    "prop": "extracts|info",
    "inprop": "url",
    "explaintext": 1,
    "redirects": 1,
}


@bounded
def wikipedia(
    *,
    base_url: str = "",
    language: str = "en",
    limit: Count = 3,
    max_chars: Count = 6_000,
    timeout: Seconds = 15.0,
    client: GuardedClient | None = None,
) -> Tool:
    """`base_url` is a MediaWiki `api.php`; by default the Wikipedia in `language`."""
    address = base_url or f"https://{language}.wikipedia.org/w/api.php"
    web = client_for(client, address, timeout)

    async def ask(**params: str | int) -> tuple[_Page, ...]:
        response = await web.get(address, params={**_FIXED_PARAMS, **params}, timeout=timeout)
        result = read_as(response, _Response, "Wikipedia")
        if result.error:
            raise ToolError(f"Wikipedia refused the query: {clip(str(result.error.get('info', result.error)), 200)}")
        pages = result.query.pages if result.query else ()
        return tuple(page for page in sorted(pages, key=lambda page: page.index) if not page.missing)

    @tool(effect="pure", timeout=timeout + 5, untrusted="Wikipedia")
    async def wikipedia(query: _Words = "", title: _Title = "", start: _Start = 0) -> WikipediaResult:
        """Search Wikipedia (query: gives the opening of the best pages) or read one page in full (title: its exact
        title)."""
        if title:
            return WikipediaResult((_part(await ask(titles=title), title, start, max_chars),))
        if not query:
            raise ToolError("query and title are both empty: give a query, or the exact title of a page")
        pages = await ask(generator="search", gsrsearch=query, gsrlimit=limit, exintro=1, exlimit="max")
        share = max_chars // max(len(pages), 1)
        return WikipediaResult(tuple(Article(page.title, page.fullurl, clip(page.extract, share)) for page in pages))

    return wikipedia


def _part(pages: tuple[_Page, ...], title: str, start: int, max_chars: int) -> Article:
    if not pages:
        raise ToolError(f"Wikipedia has no page titled {title!r}: search with query first")
    page, end = pages[0], start + max_chars
    return Article(page.title, page.fullurl, page.extract[start:end], end if end < len(page.extract) else 0)
