"""Wikipedia against a server that answers like the real one."""

from __future__ import annotations

import asyncio

import pytest

from tools.builtin.loopback import ask, use
from treadle._tools.builtin.web.wikipedia import wikipedia
from treadle._types.errors import ToolError

SEARCH = {
    "batchcomplete": True,
    "query": {
        "pages": [
            {
                "title": "Hare",
                "index": 2,
                "extract": "Hares are mammals.",
                "fullurl": "https://en.wikipedia.org/wiki/Hare",
            },
            {
                "title": "Tortoise",
                "index": 1,
                "extract": "Tortoises are reptiles. " * 500,
                "fullurl": "https://en.wikipedia.org/wiki/Tortoise",
            },
        ]
    },
}


def test_wikipedia_search():
    result, requests = ask(
        lambda url: wikipedia(base_url=f"{url}/w/api.php", limit=2), {"/w/api.php": SEARCH}, query="slow animal"
    )
    assert [article.title for article in result.articles] == ["Tortoise", "Hare"]
    assert len(result.articles[0].text) <= 3_000
    query = requests[0].query
    assert (query["generator"], query["gsrsearch"], query["gsrlimit"], query["prop"]) == (
        "search",
        "slow animal",
        "2",
        "extracts|info",
    )


def test_wikipedia_reads_a_page_in_parts():
    text = "".join(f"[{n}]" for n in range(3_000))
    page = {"query": {"pages": [{"title": "Long", "extract": text, "fullurl": "https://x"}]}}
    make = lambda url: wikipedia(base_url=url, max_chars=10_000)  # noqa: E731
    first, requests = ask(make, {"/": page}, title="Long")
    assert requests[0].query["titles"] == "Long"
    second, _ = ask(make, {"/": page}, title="Long", start=first.articles[0].next_start)
    assert first.articles[0].text + second.articles[0].text == text
    assert second.articles[0].next_start == 0


def test_wikipedia_without_such_a_page():
    with pytest.raises(ToolError, match="no page titled 'Nix'"):
        ask(
            lambda url: wikipedia(base_url=url),
            {"/": {"query": {"pages": [{"title": "Nix", "missing": True}]}}},
            title="Nix",
        )
    result, _ = ask(lambda url: wikipedia(base_url=url), {"/": {"batchcomplete": True}}, query="xyzzy")
    assert result.articles == ()
    with pytest.raises(ToolError, match="give a query"):
        asyncio.run(use(wikipedia()))


def test_wikipedia_error_inside_a_success():
    page = {"error": {"code": "cirrussearch-too-busy-error", "info": "Search is currently too busy."}}
    with pytest.raises(ToolError, match="too busy"):
        ask(lambda url: wikipedia(base_url=url), {"/": page}, query="x")
