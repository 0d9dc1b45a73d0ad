"""Server-sent events: an encoder, and a response that disconnects clients that do not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treadle._server.live.positions import ClientEvent

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
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        send_timeout: float,
        on_end: Callable[[], None],
        on_sent: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.chunks = chunks
        self.on_sent = on_sent
        """Called before `on_end` when the stream has been sent to its end."""
        self._whole = False
        self.send_timeout = send_timeout
        self.on_end = on_end
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)

    async def head(self) -> Response:
        """The response to a HEAD request: the headers without the stream."""
        await self.chunks.aclose()
        self.on_end()
        return Response(headers=HEADERS, media_type=self.media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        disconnected = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait([sending, disconnected], return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnected.cancel()
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([sending, disconnected])
            try:
                if self._whole and self.on_sent is not None:
                    await self.on_sent()
            finally:
                self.on_end()
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Send) -> None:
        async with aclosing(self.chunks) as chunks:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for chunk in chunks:
                try:
                    async with asyncio.timeout(self.send_timeout):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                except TimeoutError:
                    # Returning with the response open makes the server drop the connection.
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            self._whole = True


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
