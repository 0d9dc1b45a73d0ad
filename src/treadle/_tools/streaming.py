"""Output of tools that are generators: shown piece by piece, collected for the observation, limited in size."""

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
"""A generator that gives more characters than this is stopped."""
_MAX_QUEUED = 64
"""Pieces that a thread may send before the event loop has received them."""
_PIECES_PER_TURN = 32
"""After so many pieces of an async generator other tasks get a turn: otherwise its time-out would never fire."""
_CLOSE_SECONDS = 1.0
"""How long a generator may take to clean up."""


class _Stopped(Exception):
    """The stream is closed: no more pieces are wanted."""


class Stream:
    """The output of one call so far. `add` runs in the event loop, `send` in the tool's thread."""

    __slots__ = (
        "_context",
        "_loop",
        "_pieces",
        "_queue_slots",
        "_size",
        "_started_at",
        "closed",
        "final",
        "response",
        "started",
        "used",
    )

    def __init__(self, context: ToolContext) -> None:
        self._started_at = perf_counter()
        self.started = False
        self.used = False
        self.closed = False
        self.response: ToolResponse | None = None
        """Yielded or returned by the generator itself; its flags, artifacts and extras are used."""
        self.final = False
        """Its output is the answer: the tool has said so before the first piece."""
        self._context = context
        self._pieces: list[str] = []
        self._size = 0
        self._queue_slots: threading.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def seconds(self) -> float:
        """How long the call has been running."""
        return perf_counter() - self._started_at

    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: Any) -> None:
        self.used = True
        if isinstance(piece, ToolResponse):
            self.response = piece
            self.final = self.final or (piece.final_answer and not self._pieces)
            piece = piece.observation
        if self.closed or piece is None:
            return
        text = clean(to_text(piece))
        if self._size + len(text) > MAX_STREAMED:
            text = text[: MAX_STREAMED - self._size] + f"\n[stopped after {MAX_STREAMED} characters]"
            self.close()
        self._pieces.append(text)
        self._size += len(text)
        show = getattr(self._context, "answer", None) if self.final else None
        (show or self._context.output)(text)

    async def drain(self, source: AsyncIterator[Any]) -> None:
        self.used = True
        count = 0
        try:
            async for piece in source:
                self.add(piece)
                count += 1
                if self.closed:
                    break
                if count % _PIECES_PER_TURN == 0:
                    await asyncio.sleep(0)
        finally:
            await _aclose(source)

    def open_for_thread(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue_slots = threading.Semaphore(_MAX_QUEUED)

    def send(self, piece: Any) -> None:
        """Pass a piece to the event loop; waits while too many are queued."""
        assert self._loop is not None
        assert self._queue_slots is not None
        self._queue_slots.acquire()
        if self.closed:
            raise _Stopped
        self._loop.call_soon_threadsafe(self._receive, piece)

    def _receive(self, piece: Any) -> None:
        try:
            self.add(piece)
        finally:
            if self._queue_slots is not None:
                self._queue_slots.release()

    def close(self) -> None:
        self.closed = True
        if self._queue_slots is not None:
            self._queue_slots.release()


async def _aclose(source: AsyncIterator[Any]) -> None:
    """Close a generator, but do not wait long for one that does not end."""
    close: Any = getattr(source, "aclose", None)
    if close is not None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await close()


def pump(function: Callable[[], Any], stream: Stream) -> Any:
    """In a thread: call a sync tool, and iterate the generator that it returns (or puts in its response)."""
    stream.started = True
    value = function()
    source: Any = value.observation if isinstance(value, ToolResponse) else value
    if not isinstance(source, Iterator):
        return value
    pieces = cast(Iterator[Any], source)
    stream.used = True
    stream.final = stream.final or (isinstance(value, ToolResponse) and value.final_answer)
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
