"""Web search with DuckDuckGo's page for browsers without JavaScript; needs no API key."""

from __future__ import annotations

from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import parse_qs, urljoin, urlsplit

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import Hit, Query, SearchResult, check_status, client_for, clip
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.builtin.reading.html import MAX_HTML
from treadle._tools.function import tool
from treadle._types.errors import ToolError


@bounded
def duckduckgo(
    *,
    base_url: str = "https://html.duckduckgo.com/html/",
    region: str = "wt-wt",
    limit: Count = 5,
    timeout: Seconds = 15.0,
    client: GuardedClient | None = None,
) -> Tool:
    """`region` is DuckDuckGo's own code, like us-en or de-de; wt-wt means none."""
    web = client_for(client, base_url, timeout)

    @tool(effect="pure", timeout=timeout + 5, untrusted="search results of DuckDuckGo")
    async def duckduckgo(query: Query) -> SearchResult:
        """Search the web with DuckDuckGo. Returns titles, addresses and snippets; fetch an address to read the page."""
        response = await web.request("POST", base_url, form={"q": query, "b": "", "kl": region}, timeout=timeout)
        check_status(response, "DuckDuckGo")
        page = response.text
        if response.status == 202 or "anomaly-modal" in page:
            raise ToolError(
                "DuckDuckGo asks for a human to confirm the search: wait a few minutes or use another search tool"
            )
        hits = parse_results(page, base_url)
        if not hits and "no-results" not in page:
            raise ToolError("DuckDuckGo's page could not be read: use another search tool")
        return SearchResult(query=query, results=tuple(hits[:limit]))

    return duckduckgo


def parse_results(page: str, base_url: str) -> list[Hit]:
    reader = _Results()
    with suppress(AssertionError):  # the standard parser asserts on some malformed declarations
        reader.feed(page[:MAX_HTML])
    hits: dict[str, Hit] = {}
    for title, href, snippet in reader.results:
        url = _target(urljoin(base_url, href))
        if url and title:
            hits.setdefault(url, Hit(title=title, url=url, snippet=clip(snippet, 400)))
    return list(hits.values())


def _target(url: str) -> str:
    """The address of a result, which DuckDuckGo may wrap in one of its own; empty for advertisements."""
    parts = urlsplit(url)
    if not (parts.hostname or "").endswith("duckduckgo.com"):
        return url if parts.scheme in ("http", "https") else ""
    return parse_qs(parts.query).get("uddg", [""])[0] if parts.path == "/l/" else ""


class _Results(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.results: list[tuple[str, str, str]] = []
        self._into = ""
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "a":
            return
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if "result__a" in classes:
            self._into, self._text = "title", []
            self.results.append(("", attributes.get("href") or "", ""))
        elif "result__snippet" in classes and self.results:
            self._into, self._text = "snippet", []

    def handle_data(self, data: str) -> None:
        if self._into:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag != "a" or not self._into:
            return
        text = " ".join("".join(self._text).split())
        title, href, snippet = self.results[-1]
        self.results[-1] = (text, href, snippet) if self._into == "title" else (title, href, text)
        self._into = ""
