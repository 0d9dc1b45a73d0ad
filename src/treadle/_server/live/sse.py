"""Server-sent events: an encoder, and a response that disconnects clients that do not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treadle._server.errors import ApiError, error_response, from_engine
from treadle._server.live.positions import ClientEvent
from treadle._types.errors import TreadleError

HEARTBEAT = b":\n\n"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_CHUNK = 64 * 1024
_NOBODY: Mapping[str, Any] = {}
_encode = msgspec.json.Encoder().encode
_LINE_ENDS = {"\x85".encode(): b"\\u0085", "\u2028".encode(): b"\\u2028", "\u2029".encode(): b"\\u2029"}


def payload(value: Any) -> bytes:
    """A value as one line of JSON, also for clients that take the line ends of Unicode for line ends: text must not be
    able to begin an event."""
    data = _encode(value)
    for raw, escaped in _LINE_ENDS.items():
        if raw in data:
            data = data.replace(raw, escaped)
    return data


def encode(events: Iterable[ClientEvent], whose: Mapping[str, Any] = _NOBODY) -> Iterator[bytes]:
    """Encoded events in chunks of about `_CHUNK` bytes. A payload is one `data` line.

    `whose` says of which run they are; each payload has it.
    """
    parts: list[bytes] = []
    size = 0
    for event in events:
        data = payload({**event.data, **whose})
        parts += (b"id: ", str(event.at).encode(), b"\nevent: ", event.name.encode(), b"\ndata: ", data, b"\n\n")
        size += len(data)
        if size > _CHUNK:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


class EventStream(Response):
    """Sends the chunks of a generator until it ends, the client disconnects, or the client does not read for too long.

    Each chunk is written when it comes; nothing is buffered for a slow client, which reconnects with its last event id.
    The head and the `opening` go with the first chunk, or after `heartbeat` seconds: a failure before that is the
    response, with its own status, so that clients see it before they take the stream for an answer.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        send_timeout: float,
        heartbeat: float,
        on_end: Callable[[], None],
        on_sent: Callable[[], Awaitable[None]] | None = None,
        opening: bytes = b"",
        alive: bytes = HEARTBEAT,
        failed: Callable[[ApiError], bytes] | None = None,
    ) -> None:
        self.chunks = chunks
        self.on_begin: Callable[[int], None] = lambda status: None
        """Called with the status when it is known."""
        self.on_sent = on_sent
        """Called before `on_end` when the stream has been sent to its end."""
        self._opening, self._alive, self._failed = opening, alive, failed
        self._begun = self._whole = False
        self._turn, self._written = asyncio.Lock(), 0.0
        self.send_timeout, self.heartbeat = send_timeout, heartbeat
        self.on_end = on_end
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)

    async def head(self) -> Response:
        """The response to a HEAD request: the headers without the stream."""
        await self.chunks.aclose()
        self.on_end()
        self.on_begin(self.status_code)
        return Response(headers=HEADERS, media_type=self.media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._written = asyncio.get_running_loop().time()
        sending = asyncio.ensure_future(self._send(scope, receive, send))
        others = [asyncio.ensure_future(self._keep_alive(send)), asyncio.ensure_future(_disconnected(receive))]
        try:
            await asyncio.wait([sending, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, *others):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([sending, *others])
            try:
                if self._whole and self.on_sent is not None:
                    await self.on_sent()
            finally:
                self.on_end()
        for task in (sending, *others):
            if not task.cancelled():
                task.result()

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self.chunks) as chunks:
            try:
                async for chunk in chunks:
                    if not await self._write(send, chunk):
                        return
            except (ApiError, TreadleError) as raised:
                if self._failed is None:
                    raise
                error = raised if isinstance(raised, ApiError) else from_engine(raised)
                if self._opening and not self._begun:
                    await self._refuse(error_response(error), scope, receive, send)
                    return
                if not await self._write(send, self._failed(error)):
                    return
            await self._turn.acquire()  # for good: nothing comes after the end
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            self._whole = True

    async def _write(self, send: Send, chunk: bytes) -> bool:
        """Send a chunk; False if the client does not read: ending with the response open makes the server drop the
        connection."""
        async with self._turn:
            if not self._begun:
                self._begun = True
                self.on_begin(self.status_code)
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                chunk = self._opening + chunk
            try:
                async with asyncio.timeout(self.send_timeout):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except TimeoutError:
                return False
            self._written = asyncio.get_running_loop().time()
            return True

    async def _keep_alive(self, send: Send) -> None:
        """Send something whenever nothing was sent for a while, whatever the run does meanwhile."""
        clock = asyncio.get_running_loop().time
        reading = True
        while reading:
            await asyncio.sleep(self._written + self.heartbeat - clock())
            if clock() - self._written >= self.heartbeat:
                reading = await self._write(send, self._alive)

    async def _refuse(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        await self._turn.acquire()
        self.on_begin(response.status_code)
        await response(scope, receive, send)
        self._whole = True


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
