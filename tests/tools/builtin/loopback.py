"""A web server on loopback with the given pages; it keeps the requests it receives."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


@contextmanager
def redirecting(path: str) -> Generator[tuple[str, str, list[str]]]:
    """The addresses of a page that redirects and of where it leads, on another server of this machine, and the requests
    that came to the latter. Both serve in threads: for programs and pages."""
    came: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            came.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    class Here(Elsewhere):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("location", there)
            self.end_headers()

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), kind) for kind in (Here, Elsewhere)]
    here, elsewhere = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    there = elsewhere + path
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{here}/", there, came
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
