"""Web search with Tavily, a service for agents: results have longer extracts, and a short answer is added."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import QUERY_SCHEMA, Hit, SearchResult, client_for, clip, read_as, required_setting
from treadle._tools.builtin.http.client import GuardedClient


class _Item(Struct):
    url: str
    title: str = ""
    content: str = ""
    published_date: str | None = None


class _Response(Struct):
    results: tuple[_Item, ...]
    answer: str | None = None


@bounded
def tavily(
    *,
    key: str | None = None,
    base_url: str = "https://api.tavily.com",
    depth: Literal["basic", "advanced"] = "basic",
    topic: Literal["general", "news", "finance"] = "general",
    limit: Count = 5,
    timeout: Seconds = 20.0,
    client: GuardedClient | None = None,
) -> Tool:
    web = client_for(client, base_url, timeout, key=key)

    async def execute(query: str) -> SearchResult:
        secret = required_setting(key, "TAVILY_API_KEY", "Tavily", "app.tavily.com")
        body = {"query": query, "max_results": limit, "search_depth": depth, "topic": topic, "include_answer": True}
        headers = {"Authorization": f"Bearer {secret}"}
        response = await web.request("POST", f"{base_url}/search", json=body, headers=headers, timeout=timeout)
        result = read_as(response, _Response, "Tavily", "TAVILY_API_KEY", secret)
        hits = (
            Hit(item.title, item.url, clip(item.content, 1_000), item.published_date or "")
            for item in result.results[:limit]
        )
        return SearchResult(query, tuple(hits), result.answer or "")

    return Tool(
        name="tavily",
        description=(
            "Search the web with Tavily. "
            "Returns a short answer and, for each page found, its title, address and an extract."
        ),
        parameters=QUERY_SCHEMA,
        execute=execute,
        timeout=timeout + 5,
        effect="pure",
        untrusted="search results of Tavily",
    )
