"""Web search with Baidu, through the search API of its Qianfan platform."""

from __future__ import annotations

from msgspec import Struct

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import (
    QUERY_SCHEMA,
    Hit,
    SearchResult,
    client_for,
    clip,
    plain,
    read_as,
    required_setting,
)
from treadle._tools.builtin.http.client import GuardedClient
from treadle._types.errors import ToolError

MAX_QUERY = 72
"""Baidu ignores further characters."""


class _Reference(Struct):
    url: str
    title: str = ""
    content: str = ""
    date: str | None = None


class _Response(Struct):
    references: tuple[_Reference, ...] = ()
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

    async def execute(query: str) -> SearchResult:
        secret = required_setting(key, "BAIDU_API_KEY", "Baidu search", "console.bce.baidu.com, Qianfan")
        body = {
            "messages": [{"role": "user", "content": query[:MAX_QUERY]}],
            "search_source": "baidu_search_v2",
            "resource_type_filter": [{"type": "web", "top_k": limit}],
        }
        headers = {"Authorization": f"Bearer {secret}"}
        response = await web.request(
            "POST", f"{base_url}/v2/ai_search/web_search", json=body, headers=headers, timeout=timeout
        )
        result = read_as(response, _Response, "Baidu search", "BAIDU_API_KEY", secret)
        if result.code:
            raise ToolError(f"Baidu search failed: {clip(result.message or str(result.code), 200)}")
        hits = (
            Hit(plain(reference.title), reference.url, clip(plain(reference.content), 600), reference.date or "")
            for reference in result.references[:limit]
        )
        return SearchResult(query, tuple(hits))

    return Tool(
        name="baidu",
        description="Search the web with Baidu, best for Chinese pages. Returns titles, addresses and extracts.",
        parameters=QUERY_SCHEMA,
        execute=execute,
        timeout=timeout + 5,
        effect="pure",
        untrusted="search results of Baidu",
    )
