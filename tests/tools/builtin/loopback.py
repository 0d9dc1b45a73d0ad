"""A web server on loopback with the given pages; it keeps the requests it receives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from treadle._tools.base import Tool

Answering = Callable[[web.Request], Any]


@dataclass
class ReceivedRequest:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    url: str
    host: str
    port: int
    requests: list[ReceivedRequest] = field(default_factory=list)


@asynccontextmanager
async def serving(pages: Mapping[str, Any], host: str = "127.0.0.1") -> AsyncGenerator[Site]:
    """`pages` maps a path to a `web.Response` factory, to text (HTML), bytes, or JSON data; `*` catches the rest."""
    site = Site("", host, 0)

    async def answer(request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        site.requests.append(
            ReceivedRequest(request.method, request.path, dict(request.query), headers, await request.read())
        )
        page = pages.get(request.path, pages.get("*"))
        if callable(page):
            page = page(request)
            if inspect.isawaitable(page):
                page = await page
        if page is None:
            return web.Response(status=404, text="nothing here")
        if isinstance(page, web.StreamResponse):
            return page
        if isinstance(page, str):
            return web.Response(text=page, content_type="text/html")
        if isinstance(page, bytes):
            return web.Response(body=page, content_type="application/octet-stream")
        return web.json_response(page)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        tcp = web.TCPSite(runner, host, 0)
        await tcp.start()
        site.port = runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        site.url = f"http://{shown}:{site.port}"
        yield site
    finally:
        await runner.cleanup()


async def use(tool: Tool, **args: Any) -> Any:
    """Call a tool's function the way the runner does."""
    result = tool.execute(**args)
    return await result if inspect.isawaitable(result) else result


def ask(make: Callable[[str], Tool], pages: Mapping[str, Any], **args: Any) -> tuple[Any, list[ReceivedRequest]]:
    """One call of a tool whose service is on loopback: its result and the requests that the service received."""

    async def main() -> tuple[Any, list[ReceivedRequest]]:
        async with serving(pages) as site:
            return await use(make(site.url), **args), site.requests

    return asyncio.run(main())
