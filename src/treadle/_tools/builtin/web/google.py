"""Web search with Google's Custom Search JSON API."""

from __future__ import annotations

from msgspec import Struct

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import QUERY_SCHEMA, Hit, SearchResult, client_for, clip, read_as, required_setting
from treadle._tools.builtin.http.client import GuardedClient


class _Item(Struct):
    link: str
    title: str = ""
    snippet: str = ""


class _Response(Struct):
    items: tuple[_Item, ...] = ()


@bounded
def google(
    *,
    key: str | None = None,
    engine: str | None = None,
    base_url: str = "https://www.googleapis.com/customsearch/v1",
    language: str = "",
    limit: Count = 5,
    timeout: Seconds = 15.0,
    client: GuardedClient | None = None,
) -> Tool:
    """`engine` is the search engine's id (cx). `language` like "en" restricts the results to it."""
    web = client_for(client, base_url, timeout, key=key)

    async def execute(query: str) -> SearchResult:
        secret = required_setting(key, "GOOGLE_API_KEY", "Google search", "console.cloud.google.com, Custom Search API")
        cx = required_setting(
            engine, "GOOGLE_CSE_ID", "Google search", "programmablesearchengine.google.com, the search engine id"
        )
        params: dict[str, str | int] = {"key": secret, "cx": cx, "q": query, "num": max(1, min(limit, 10))}
        if language:
            params["lr"] = f"lang_{language}"
        response = await web.get(base_url, params=params, timeout=timeout)
        result = read_as(response, _Response, "Google search", "GOOGLE_API_KEY", secret)
        return SearchResult(
            query,
            tuple(
                Hit(item.title, item.link, clip(item.snippet.replace("\n", " "), 400)) for item in result.items[:limit]
            ),
        )

    return Tool(
        name="google",
        description=(
            "Search the web with Google. Returns titles, addresses and snippets; fetch an address to read the page."
        ),
        parameters=QUERY_SCHEMA,
        execute=execute,
        timeout=timeout + 5,
        effect="pure",
        untrusted="search results of Google",
    )
