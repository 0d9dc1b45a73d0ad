"""Server-sent events: our own encoder, and a response that lets go of clients that do not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from treadle.server.projection import Shown

HEARTBEAT = b":\n\n"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_encode = msgspec.json.Encoder().encode


def encode(events: Iterable[Shown]) -> bytes:
    """JSON has no raw line ends, so a payload is one `data` line."""
    parts: list[bytes] = []
    for event in events:
        parts += (b"id: ", str(event.at).encode(), b"\nevent: ", event.name.encode(), b"\ndata: ", _encode(event.data), b"\n\n")
    return b"".join(parts)


class EventStream(Response):
    """Sends what a generator gives until it ends, the client goes away, or the client does not read for too long.

    Every chunk is written when it comes; nothing is kept for a slow client, it comes back and goes on from its last id.
    """

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[bytes, None], *, send_timeout: float, on_end: Callable[[], None]) -> None:
        self.chunks = chunks
        self.send_timeout = send_timeout
        self.on_end = on_end
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait([sending, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            sending.cancel()
            self.on_end()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([sending, gone])
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


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
