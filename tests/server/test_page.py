"""The page without its build."""

from __future__ import annotations

import asyncio

from treadle._server.page import Page


def test_a_page_that_is_not_built_says_how():
    from starlette.requests import Request

    page = Page()
    page._files.clear()  # pyright: ignore[reportPrivateUsage]
    [route] = page.routes()
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [],
        "server": ("127.0.0.1", 80),
        "query_string": b"",
        "scheme": "http",
    }
    answer = asyncio.run(route.endpoint(Request(scope)))
    assert b"python3 tasks.py page" in answer.body
