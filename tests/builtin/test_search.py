"""The four web searches against servers that speak like the real ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from treadle._tools.base import Tool
from treadle._tools.builtin.common import Hit, SearchResult
from treadle._tools.builtin.web.baidu import baidu
from treadle._tools.builtin.web.duckduckgo import duckduckgo
from treadle._tools.builtin.web.google import google
from treadle._tools.builtin.web.tavily import tavily
from treadle._types.errors import ToolError

from .web import ask, use

KEY = "secret-key-4711"

DUCK = """<html><body><div class="serp__results"><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=x">Buy a tortoise</a></h2>
<a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Cheap</a></div></div>
<div class="result results_links results_links_deep web-result "> <div class="links_main links_deep result__body"> <!-- visible part -->
<h2 class="result__title"> <a rel="nofollow" class="result__a"
href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fen.wikipedia.org%2Fwiki%2FTortoise%3Fa%3D1&amp;rut=ab12"
>Tortoise - Wikipedia</a> </h2>
<div class="result__extras"><div class="result__extras__url"><span class="result__icon">
<a rel="nofollow" href="https://en.wikipedia.org/wiki/Tortoise"><img class="result__icon__img" src="//x/ip3/en.ico" /></a></span>
<a class="result__url" href="https://en.wikipedia.org/wiki/Tortoise"> en.wikipedia.org/wiki/Tortoise </a></div></div>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fen.wikipedia.org">
Tortoises are <b>reptiles</b>; it&#x27;s a family.</a></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://www.example.org/hare">The hare</a></h2></div></div>
</div></div></body></html>"""

GOOGLE = {
    "kind": "customsearch#search",
    "searchInformation": {"searchTime": 0.2, "totalResults": "2"},
    "items": [
        {
            "kind": "customsearch#result",
            "title": "Tortoise",
            "htmlTitle": "<b>Tortoise</b>",
            "link": "https://a.example/",
            "displayLink": "a.example",
            "snippet": "A slow\nanimal",
            "pagemap": {},
        },
        {"kind": "customsearch#result", "title": "Hare", "link": "https://b.example/"},
    ],
}

TAVILY = {
    "query": "tortoise",
    "follow_up_questions": None,
    "answer": "A reptile.",
    "images": [],
    "response_time": 1.09,
    "request_id": "1",
    "results": [
        {
            "url": "https://a.example/",
            "title": "Tortoise",
            "content": "Slow and steady.",
            "score": 0.9,
            "raw_content": None,
            "published_date": "2026-01-02",
        }
    ],
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
            "type": "web",
            "icon": None,
            "web_anchor": "x",
        },
        {"id": 2, "title": "兔子", "url": "https://b.example/", "content": "", "date": None, "type": "web"},
    ],
}


def test_duckduckgo():
    result, asked = ask(lambda url: duckduckgo(base_url=f"{url}/html/"), {"/html/": DUCK}, query="tortoise & hare")
    assert result == SearchResult(
        "tortoise & hare",
        (
            Hit(
                "Tortoise - Wikipedia",
                "https://en.wikipedia.org/wiki/Tortoise?a=1",
                "Tortoises are reptiles; it's a family.",
            ),
            Hit("The hare", "https://www.example.org/hare"),
        ),
    )
    assert (asked[0].method, asked[0].body) == ("POST", b"q=tortoise+%26+hare&b=&kl=wt-wt")


def test_duckduckgo_finds_nothing():
    page = '<div class="no-results">No results found for <b>xyzzy</b></div>'
    result, _ = ask(lambda url: duckduckgo(base_url=url), {"/": page}, query="xyzzy")
    assert result.results == ()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (lambda _: web.Response(status=202, text="<form id='challenge-form'>"), "wants a person"),
        ('<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>', "wants a person"),
        ("<html>something new</html>", "could not be read"),
        (lambda _: web.Response(status=429), "too many requests"),
    ],
)
def test_duckduckgo_refuses(page: Any, said: str):
    with pytest.raises(ToolError, match=said):
        ask(lambda url: duckduckgo(base_url=url), {"/": page}, query="x")


def test_google(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine-1")
    result, asked = ask(
        lambda url: google(base_url=f"{url}/customsearch/v1", language="de", limit=20),
        {"/customsearch/v1": GOOGLE},
        query="tortoise",
    )
    assert result.results == (Hit("Tortoise", "https://a.example/", "A slow animal"), Hit("Hare", "https://b.example/"))
    assert asked[0].query == {"key": KEY, "cx": "engine-1", "q": "tortoise", "num": "10", "lr": "lang_de"}


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


def test_tavily():
    result, asked = ask(lambda url: tavily(key=KEY, base_url=url), {"/search": TAVILY}, query="tortoise")
    assert result == SearchResult(
        "tortoise", (Hit("Tortoise", "https://a.example/", "Slow and steady.", "2026-01-02"),), "A reptile."
    )
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(asked[0].body) == {
        "query": "tortoise",
        "max_results": 5,
        "search_depth": "basic",
        "topic": "general",
        "include_answer": True,
    }


def test_baidu():
    result, asked = ask(
        lambda url: baidu(key=KEY, base_url=url), {"/v2/ai_search/web_search": BAIDU}, query="乌龟" * 50
    )
    assert result.results[0] == Hit(
        "乌龟_百度百科", "https://baike.baidu.com/item/x", "乌龟是爬行动物", "2025-05-01 10:00:00"
    )
    sent = json.loads(asked[0].body)
    assert sent["messages"] == [{"role": "user", "content": ("乌龟" * 50)[:72]}]
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_baidu_error_inside_a_success():
    with pytest.raises(ToolError, match="quota exceeded"):
        ask(
            lambda url: baidu(key=KEY, base_url=url),
            {"*": {"code": 216003, "message": "quota exceeded", "requestId": "1"}},
            query="x",
        )


KEYED: list[tuple[Callable[..., Tool], str]] = [
    (google, "GOOGLE_API_KEY"),
    (tavily, "TAVILY_API_KEY"),
    (baidu, "BAIDU_API_KEY"),
]


@pytest.mark.parametrize(("make", "variable"), KEYED)
def test_a_missing_key_names_its_variable(make: Callable[..., Tool], variable: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ToolError, match=f"set {variable}"):
        asyncio.run(use(make(), query="x"))


@pytest.mark.parametrize(("make", "variable"), KEYED)
def test_a_refused_key_names_its_variable(make: Callable[..., Tool], variable: str):
    more = {"engine": "e"} if make is google else {}
    with pytest.raises(ToolError, match=f"check {variable}") as caught:
        ask(
            lambda url: make(key=KEY, base_url=url, **more),
            {"*": lambda _: web.Response(status=401, text=KEY)},
            query="x",
        )
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("make", [google, tavily, baidu])
@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"[]", b'{"results": 5, "items": 5, "references": 5}', b"\xff", b"null"]
)
def test_answers_that_are_not_what_was_promised(make: Callable[..., Tool], body: bytes):
    more = {"engine": "e"} if make is google else {}
    with pytest.raises(ToolError, match="not what the service documents"):
        ask(lambda url: make(key=KEY, base_url=url, **more), {"*": body}, query="x")


def test_a_hundred_results_are_cut_to_the_limit():
    many = {**TAVILY, "results": [{"url": f"https://a.example/{n}", "content": "x" * 10_000} for n in range(100)]}
    result, _ = ask(lambda url: tavily(key=KEY, base_url=url, limit=3), {"*": many}, query="x")
    assert len(result.results) == 3
    assert all(len(hit.snippet) <= 1_000 for hit in result.results)
