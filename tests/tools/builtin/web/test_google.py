"""Google search against a server that answers like the real one."""

from __future__ import annotations

import pytest
from aiohttp import web

from tools.builtin.loopback import ask
from treadle._tools.builtin.common import Hit
from treadle._tools.builtin.web.search import google
from treadle._types.errors import ToolError

KEY = "secret-key-4711"


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
