"""Searches by APIs with keys, against servers that answer like the real ones: Google, Tavily, Baidu."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import ask, use
from treadle._tools.base import Tool
from treadle._tools.builtin.common import Hit, SearchResult
from treadle._tools.builtin.web.search import baidu, google, tavily
from treadle._types.errors import ToolError

KEY = "secret-key-4711"


GOOGLE = {
    "kind": "customsearch#search",
    "items": [
        {
            "title": "Tortoise",
            "htmlTitle": "<b>Tortoise</b>",
            "link": "https://a.example/",
            "snippet": "A slow\nanimal",
        },
        {"kind": "customsearch#result", "title": "Hare", "link": "https://b.example/"},
    ],
}


def test_google(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine-1")
    result, requests = ask(
        lambda url: google(base_url=f"{url}/customsearch/v1", language="de", limit=20),
        {"/customsearch/v1": GOOGLE},
        query="tortoise",
    )
    assert result.results == (Hit("Tortoise", "https://a.example/", "A slow animal"), Hit("Hare", "https://b.example/"))
    assert requests[0].query == {"key": KEY, "cx": "engine-1", "q": "tortoise", "num": "10", "lr": "lang_de"}


def test_google_finds_nothing():
    result, _ = ask(
        lambda url: google(key=KEY, engine="e", base_url=url), {"/": {"kind": "customsearch#search"}}, query="x"
    )
    assert result.results == ()


def test_google_errors_do_not_show_the_key():
    page = lambda _: web.json_response({"error": {"code": 400, "message": f"API key not valid: {KEY}"}}, status=400)  # noqa: E731
    with pytest.raises(ToolError, match="API key not valid") as caught:
        ask(lambda url: google(key=KEY, engine="e", base_url=url), {"/": page}, query="x")
    assert KEY not in str(caught.value)


TAVILY = {
    "query": "tortoise",
    "answer": "A reptile.",
    "results": [
        {
            "url": "https://a.example/",
            "title": "Tortoise",
            "content": "Slow and steady.",
            "published_date": "2026-01-02",
        }
    ],
}


def test_tavily():
    result, requests = ask(lambda url: tavily(key=KEY, base_url=url), {"/search": TAVILY}, query="tortoise")
    assert result == SearchResult(
        "tortoise", (Hit("Tortoise", "https://a.example/", "Slow and steady.", "2026-01-02"),), "A reptile."
    )
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(requests[0].body) == {
        "query": "tortoise",
        "max_results": 5,
        "search_depth": "basic",
        "topic": "general",
        "include_answer": True,
    }


BAIDU = {
    "request_id": "3a",
    "references": [
        {
            "id": 1,
            "title": "乌龟_百度百科",
            "url": "https://baike.baidu.com/item/x",
            "content": "乌龟是<em>爬行</em>动物",
            "date": "2025-05-01 10:00:00",
        },
        {"id": 2, "title": "兔子", "url": "https://b.example/", "content": "", "date": None, "type": "web"},
    ],
}


def test_baidu():
    result, requests = ask(
        lambda url: baidu(key=KEY, base_url=url), {"/v2/ai_search/web_search": BAIDU}, query="乌龟" * 50
    )
    assert result.results[0] == Hit(
        "乌龟_百度百科", "https://baike.baidu.com/item/x", "乌龟是爬行动物", "2025-05-01 10:00:00"
    )
    sent = json.loads(requests[0].body)
    assert sent["messages"] == [{"role": "user", "content": ("乌龟" * 50)[:72]}]
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_baidu_error_inside_a_success():
    with pytest.raises(ToolError, match="quota exceeded"):
        ask(
            lambda url: baidu(key=KEY, base_url=url),
            {"*": {"code": 216003, "message": "quota exceeded", "requestId": "1"}},
            query="x",
        )


KEYED: dict[str, tuple[Callable[..., Tool], dict[str, Any]]] = {
    "GOOGLE_API_KEY": (google, {"engine": "e"}),
    "TAVILY_API_KEY": (tavily, {}),
    "BAIDU_API_KEY": (baidu, {}),
}
ODD = (b"<html>", b"", b"[]", b'{"results": 5, "items": 5, "references": 5}', b"\xff", b"null")


@pytest.mark.parametrize("variable", KEYED)
def test_a_key_that_is_missing_or_refused_and_answers_that_are_not_what_was_promised(
    variable: str, monkeypatch: pytest.MonkeyPatch
):
    make, more = KEYED[variable]
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ToolError, match=f"set {variable}"):
        asyncio.run(use(make(), query="x"))

    def answered(page: Any) -> Any:
        return ask(lambda url: make(key=KEY, base_url=url, **more), {"*": page}, query="x")

    with pytest.raises(ToolError, match=f"check {variable}") as caught:
        answered(lambda _: web.Response(status=401, text=KEY))
    assert KEY not in str(caught.value)
    for body in ODD:
        with row(body), pytest.raises(ToolError, match="does not have the expected form"):
            answered(body)


def test_a_hundred_results_are_cut_to_the_limit():
    many = {**TAVILY, "results": [{"url": f"https://a.example/{n}", "content": "x" * 10_000} for n in range(100)]}
    result, _ = ask(lambda url: tavily(key=KEY, base_url=url, limit=3), {"*": many}, query="x")
    assert len(result.results) == 3
    assert all(len(hit.snippet) <= 1_000 for hit in result.results)
