"""The pieces of a generator: shown as they come, kept for the observation, bounded in number and size."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from time import perf_counter
from typing import Any, cast

from treadle._tools.base import ToolContext, ToolResponse
from treadle._tools.results import clean, to_text

MAX_STREAMED = 10_000_000
"""Characters kept of one generator; it is stopped there."""
_AHEAD = 64
"""Pieces a thread may be ahead of the loop."""
_TURN = 32
"""Pieces an async generator may give before others get a turn: one that never waits would stop the clock."""

_CLOSING = 1.0
"""Seconds a generator gets to clean up."""


class _Stopped(Exception):
    """Nobody wants any more pieces."""


class Stream:
    """What one call has put out so far. `add` runs on the loop, `send` in the tool's thread."""

    __slots__ = ("_ahead", "_began", "_context", "_loop", "_pieces", "_size", "closed", "response", "started", "used")

    def __init__(self, context: ToolContext) -> None:
        self._began = perf_counter()
        self.started = False
        self.used = False
        self.closed = False
        self.response: ToolResponse | None = None
        """Yielded or returned by the generator itself: its flags, artifacts and extras count."""
        self._context = context
        self._pieces: list[str] = []
        self._size = 0
        self._ahead: threading.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def seconds(self) -> float:
        """How long the call has been under way."""
        return perf_counter() - self._began

    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: Any) -> None:
        self.used = True
        if isinstance(piece, ToolResponse):
            self.response = piece
            piece = piece.observation
        if self.closed or piece is None:
            return
        text = clean(to_text(piece))
        if self._size + len(text) > MAX_STREAMED:
            text = text[: MAX_STREAMED - self._size] + f"\n[stopped after {MAX_STREAMED} characters]"
            self.close()
        self._pieces.append(text)
        self._size += len(text)
        self._context.output(text)

    async def drain(self, source: AsyncIterator[Any]) -> None:
        self.used = True
        count = 0
        try:
            async for piece in source:
                self.add(piece)
                count += 1
                if self.closed:
                    break
                if count % _TURN == 0:
                    await asyncio.sleep(0)
        finally:
            await _aclose(source)

    def open_for_thread(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ahead = threading.Semaphore(_AHEAD)

    def send(self, piece: Any) -> None:
        """Hand a piece to the loop, waiting while it is too far behind."""
        assert self._loop is not None
        assert self._ahead is not None
        self._ahead.acquire()
        if self.closed:
            raise _Stopped
        self._loop.call_soon_threadsafe(self._receive, piece)

    def _receive(self, piece: Any) -> None:
        try:
            self.add(piece)
        finally:
            if self._ahead is not None:
                self._ahead.release()

    def close(self) -> None:
        self.closed = True
        if self._ahead is not None:
            self._ahead.release()


async def _aclose(source: AsyncIterator[Any]) -> None:
    """End a generator, but do not wait for one that will not end."""
    close: Any = getattr(source, "aclose", None)
    if close is not None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSING):
                await close()


def pump(function: Callable[[], Any], stream: Stream) -> Any:
    """In a thread: call a sync tool, and if it gives a generator (or a response with one), iterate it right here."""
    stream.started = True
    value = function()
    source: Any = value.observation if isinstance(value, ToolResponse) else value
    if not isinstance(source, Iterator):
        return value
    pieces = cast(Iterator[Any], source)
    stream.used = True
    with contextlib.suppress(_Stopped):
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                if isinstance(end.value, ToolResponse):
                    stream.send(end.value)
                break
            stream.send(piece)
    close: Any = getattr(pieces, "close", None)
    if close is not None:
        with contextlib.suppress(Exception):
            close()
    return value
