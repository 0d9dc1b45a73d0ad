"""Tavily against a server that answers like the real one."""

from __future__ import annotations

import json

from tools.builtin.loopback import ask
from treadle._tools.builtin.common import Hit, SearchResult
from treadle._tools.builtin.web.search import tavily

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
