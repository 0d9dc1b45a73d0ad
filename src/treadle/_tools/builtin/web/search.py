"""Web search through the APIs of Google (Custom Search), Tavily and Baidu (Qianfan). Each needs a key."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import Hit, Query, SearchResult, client_for, clip, plain, read_as, required_setting
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.function import tool
from treadle._types.errors import ToolError

MAX_BAIDU_QUERY = 72
"""Baidu ignores further characters."""


class _GoogleItem(Struct):
    link: str
    title: str = ""
    snippet: str = ""


class _GoogleResponse(Struct):
    items: tuple[_GoogleItem, ...] = ()


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

    @tool(effect="pure", timeout=timeout + 5, untrusted="search results of Google")
    async def google(query: Query) -> SearchResult:
        """Search the web with Google. Returns titles, addresses and snippets; fetch an address to read the page."""
        secret = required_setting(key, "GOOGLE_API_KEY", "Google search", "console.cloud.google.com, Custom Search API")
        cx = required_setting(
            engine, "GOOGLE_CSE_ID", "Google search", "programmablesearchengine.google.com, the search engine id"
        )
        params: dict[str, str | int] = {"key": secret, "cx": cx, "q": query, "num": max(1, min(limit, 10))}
        if language:
            params["lr"] = f"lang_{language}"
        response = await web.get(base_url, params=params, timeout=timeout)
        items = read_as(response, _GoogleResponse, "Google search", "GOOGLE_API_KEY", secret).items[:limit]
        hits = (Hit(item.title, item.link, clip(item.snippet.replace("\n", " "), 400)) for item in items)
        return SearchResult(query, tuple(hits))

    return google


class _TavilyItem(Struct):
    url: str
    title: str = ""
    content: str = ""
    published_date: str | None = None


class _TavilyResponse(Struct):
    results: tuple[_TavilyItem, ...]
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
    """Tavily is a service for agents: its results have longer extracts, and a short answer is added."""
    web = client_for(client, base_url, timeout, key=key)

    @tool(effect="pure", timeout=timeout + 5, untrusted="search results of Tavily")
    async def tavily(query: Query) -> SearchResult:
        """Search the web with Tavily. Returns a short answer and, for each page found, its title, address and an
        extract."""
        secret = required_setting(key, "TAVILY_API_KEY", "Tavily", "app.tavily.com")
        body = {"query": query, "max_results": limit, "search_depth": depth, "topic": topic, "include_answer": True}
        headers = {"Authorization": f"Bearer {secret}"}
        response = await web.request("POST", f"{base_url}/search", json=body, headers=headers, timeout=timeout)
        result = read_as(response, _TavilyResponse, "Tavily", "TAVILY_API_KEY", secret)
        hits = (
            Hit(item.title, item.url, clip(item.content, 1_000), item.published_date or "")
            for item in result.results[:limit]
        )
        return SearchResult(query, tuple(hits), result.answer or "")

    return tavily


class _BaiduReference(Struct):
    url: str
    title: str = ""
    content: str = ""
    date: str | None = None


class _BaiduResponse(Struct):
    references: tuple[_BaiduReference, ...] = ()
    code: str | int = ""
    message: str = ""


@bounded
def baidu(
    *,
    key: str | None = None,
    base_url: str = "https://qianfan.baidubce.com",
    limit: Count = 5,
    timeout: Seconds = 20.0,
    client: GuardedClient | None = None,
) -> Tool:
    web = client_for(client, base_url, timeout, key=key)

    @tool(effect="pure", timeout=timeout + 5, untrusted="search results of Baidu")
    async def baidu(query: Query) -> SearchResult:
        """Search the web with Baidu, best for Chinese pages. Returns titles, addresses and extracts."""
        secret = required_setting(key, "BAIDU_API_KEY", "Baidu search", "console.bce.baidu.com, Qianfan")
        body = {
            "messages": [{"role": "user", "content": query[:MAX_BAIDU_QUERY]}],
            "search_source": "baidu_search_v2",
            "resource_type_filter": [{"type": "web", "top_k": limit}],
        }
        headers = {"Authorization": f"Bearer {secret}"}
        response = await web.request(
            "POST", f"{base_url}/v2/ai_search/web_search", json=body, headers=headers, timeout=timeout
        )
        result = read_as(response, _BaiduResponse, "Baidu search", "BAIDU_API_KEY", secret)
        if result.code:
            raise ToolError(f"Baidu search failed: {clip(result.message or str(result.code), 200)}")
        hits = (
            Hit(plain(reference.title), reference.url, clip(plain(reference.content), 600), reference.date or "")
            for reference in result.references[:limit]
        )
        return SearchResult(query, tuple(hits))

    return baidu
