"""An HTTP server on loopback with scripted answers, including faults."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """`pieces` go out as separate chunks; a fault happens after them instead of the proper end.

    fault: "" | "reset" (RST) | "close" (orderly end, body incomplete) | "stall" (silence).
    """

    status: int = 200
    pieces: Iterable[bytes] = ()
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    fault: str = ""
    gzipped: bool = False
    before_headers: bool = False
    """The fault comes before anything is sent."""
    length: bool = False
    """Send a content-length instead of chunks."""
    no_framing: bool = False
    """Neither length nor chunks: the end of the connection is the end of the body."""
    delay: float = 0.0
    """Seconds before the headers are sent."""


def reply(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, [json.dumps(value).encode()], {"content-type": "application/json", **headers}, length=True)


def stream(*pieces: bytes | str, **changes: Any) -> Answer:
    data = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return Answer(pieces=data, headers={"content-type": "text/event-stream"}, **changes)


def split(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


Script = Callable[[Received], Answer] | Iterable[Answer]


class Loopback:
    """`async with Loopback([answer, ...]) as server`: each request takes the next answer, the last one repeats."""

    def __init__(self, script: Script) -> None:
        self.script = script if callable(script) else list(script)
        self.received: list[Received] = []
        self.connections = 0
        self._handlers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._handlers:
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Received(head[0].split(" ")[1], headers, body)
        self.received.append(request)
        answer = (
            self.script(request)
            if callable(self.script)
            else self.script[min(len(self.received), len(self.script)) - 1]
        )
        return await self._answer(answer, writer)

    async def _answer(self, answer: Answer, writer: asyncio.StreamWriter) -> bool:
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.before_headers:
            return await self._fail(answer.fault, writer)
        pieces = list(answer.pieces)
        headers = dict(answer.headers)
        if answer.gzipped:
            pieces, headers["content-encoding"] = split(gzip.compress(b"".join(pieces)), 11), "gzip"
        if answer.length:
            # A body with a fault stops short of the length it promised.
            headers["content-length"] = str(sum(map(len, pieces)) + (10 if answer.fault else 0))
        elif not answer.no_framing:
            headers["transfer-encoding"] = "chunked"
        lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        for piece in pieces:
            writer.write(piece if answer.length or answer.no_framing else b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        if answer.fault:
            return await self._fail(answer.fault, writer)
        if answer.no_framing:
            return False
        if not answer.length:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _fail(self, fault: str, writer: asyncio.StreamWriter) -> bool:
        await writer.drain()
        if fault == "stall":
            await asyncio.sleep(60)
        if fault == "reset":
            raw: socket.socket = writer.get_extra_info("socket")
            await asyncio.sleep(0.02)  # what was sent before must arrive before the reset overtakes it
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False


@contextmanager
def running(script: Callable[[Received], Answer]) -> Iterator[str]:
    """The command has an event loop of its own: so does the server."""
    ready, done, url = threading.Event(), threading.Event(), [""]

    async def serve() -> None:
        async with Loopback(script) as loopback:
            url[0] = loopback.url
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(60)
    try:
        yield url[0]
    finally:
        done.set()
        thread.join()
