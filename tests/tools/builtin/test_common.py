"""What all web searches have in common: keys, refusals, unexpected responses, limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web

from tools.builtin.loopback import ask, use
from treadle._tools.base import Tool
from treadle._tools.builtin.web.search import baidu, google, tavily
from treadle._types.errors import ToolError

KEY = "secret-key-4711"


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
    with pytest.raises(ToolError, match="does not have the expected form"):
        ask(lambda url: make(key=KEY, base_url=url, **more), {"*": body}, query="x")


def test_a_hundred_results_are_cut_to_the_limit():
    many = {**TAVILY, "results": [{"url": f"https://a.example/{n}", "content": "x" * 10_000} for n in range(100)]}
    result, _ = ask(lambda url: tavily(key=KEY, base_url=url, limit=3), {"*": many}, query="x")
    assert len(result.results) == 3
    assert all(len(hit.snippet) <= 1_000 for hit in result.results)
