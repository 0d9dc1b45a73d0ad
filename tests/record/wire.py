"""Servers and clients that work with plain bytes, for comparing what goes in with what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from treadle._record.exchange import HttpExchange, Memory
from treadle._record.proxy import Proxy
from treadle._record.upstreams import Routes, upstream_at

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(talk: Talk) -> AsyncIterator[int]:
    """A server that talks to each connection as `talk` does; gives its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Setting:
    """A proxy in front of one server."""

    def __init__(self, proxy: Proxy, port: int, exchanges: list[HttpExchange]) -> None:
        self.proxy = proxy
        self.server_port = port
        self.exchanges = exchanges

    @property
    def port(self) -> int:
        return int(self.proxy.address.rpartition(":")[2])


@asynccontextmanager
async def between(talk: Talk, *, path: str = "", memory: Memory | None = None) -> AsyncIterator[Setting]:
    exchanges: list[HttpExchange] = []
    async with listening(talk) as port:
        routes = Routes({"": upstream_at(f"http://127.0.0.1:{port}{path}")})
        proxy = Proxy(routes, exchanges.append, memory=memory)
        await proxy.start()
        try:
            yield Setting(proxy, port, exchanges)
        finally:
            await proxy.close()


async def ask(port: int, request: bytes) -> bytes:
    """All that comes back until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.close()


def post(path: str, body: bytes, *lines: str) -> bytes:
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1:1", f"Content-Length: {len(body)}", *lines]
    return "\r\n".join([*head, "", ""]).encode() + body


async def request_at(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The head and body of a request with a length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return head, await reader.readexactly(length)
