"""DuckDuckGo against a server that answers like the real one."""

from __future__ import annotations

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import ask
from treadle._tools.builtin.common import Hit, SearchResult
from treadle._tools.builtin.web.duckduckgo import duckduckgo
from treadle._types.errors import ToolError

DUCK = """<html><body><div class="serp__results"><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body">
<h2 class="result__title">
<a rel="nofollow" class="result__a"
href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=x">Buy a tortoise</a></h2>
<a class="result__snippet" href="https://duckduckgo.com/y.js?ad_domain=shop.example">Cheap</a></div></div>
<div class="result results_links results_links_deep web-result ">
<div class="links_main links_deep result__body"> <!-- visible part -->
<h2 class="result__title"> <a rel="nofollow" class="result__a"
href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fen.wikipedia.org%2Fwiki%2FTortoise%3Fa%3D1&amp;rut=ab12"
>Tortoise - Wikipedia</a> </h2>
<div class="result__extras"><div class="result__extras__url"><span class="result__icon">
<a rel="nofollow" href="https://en.wikipedia.org/wiki/Tortoise">
<img class="result__icon__img" src="//x/ip3/en.ico" /></a></span>
<a class="result__url" href="https://en.wikipedia.org/wiki/Tortoise"> en.wikipedia.org/wiki/Tortoise </a></div></div>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fen.wikipedia.org">
Tortoises are <b>reptiles</b>; it&#x27;s a family.</a></div></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://www.example.org/hare">The hare</a></h2></div></div>
</div></div></body></html>"""


def test_duckduckgo():
    result, requests = ask(lambda url: duckduckgo(base_url=f"{url}/html/"), {"/html/": DUCK}, query="tortoise & hare")
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
    assert (requests[0].method, requests[0].body) == ("POST", b"q=tortoise+%26+hare&b=&kl=wt-wt")


def test_duckduckgo_finds_nothing():
    page = '<div class="no-results">No results found for <b>xyzzy</b></div>'
    result, _ = ask(lambda url: duckduckgo(base_url=url), {"/": page}, query="xyzzy")
    assert result.results == ()


def test_duckduckgo_refuses():
    for page, message in (
        (lambda _: web.Response(status=202, text="<form id='challenge-form'>"), "asks for a human"),
        ('<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>', "asks for a human"),
        ("<html>something new</html>", "could not be read"),
        (lambda _: web.Response(status=429), "too many requests"),
    ):
        with row(page, message), pytest.raises(ToolError, match=message):
            ask(lambda url: duckduckgo(base_url=url), {"/": page}, query="x")
