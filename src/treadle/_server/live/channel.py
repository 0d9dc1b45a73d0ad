"""Connects a run in progress with the clients that follow it. Followers pull: nothing is queued for them.

Stored records are read from the log itself. What is shown but not stored (text while the model writes, output while a
tool runs) is kept here as long as its message is open, once for all followers, and dropped when the record of the
complete message arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle._server.live.projection import ANSWERING, FORCED, Streamed
from treadle._types import events as ev
from treadle._types.state import CONVERSATION

MAX_OPEN_CHARS = 1_000_000


class Piece(Struct, frozen=True):
    """Text of an open message: it came after record `seq` and ends at character `end` of the message."""

    source: Streamed
    """The event that brought it, without its text."""
    seq: int
    end: int
    text: str


class OpenMessage:
    """The message that is being written. `base` is the record that opened it."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.pieces: list[Piece] = []
        self.first = 0
        """How many of the oldest pieces were dropped, so that a tool that never ends cannot fill the memory."""
        self._chars = 0
        self._kept = 0

    def add(self, source: Streamed, seq: int, text: str) -> None:
        self._chars += len(text)
        self._kept += len(text)
        self.pieces.append(Piece(source, seq, self._chars, text))
        if self._kept > MAX_OPEN_CHARS:
            dropped = 0
            while self._kept > MAX_OPEN_CHARS // 2:
                self._kept -= len(self.pieces[dropped].text)
                dropped += 1
            del self.pieces[:dropped]
            self.first += dropped


class Channel:
    """One run as its followers see it."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.records: Sequence[ev.Record] | None = None
        """The log itself while the run is driven in this process; else the journal has it."""
        self.stored = 0
        """How many of `records` are in the journal; followers must not see the others yet."""
        self.open_message = OpenMessage(-1)
        self.followers = 0
        self.live = False
        self.closed = False
        self.failure = ""
        """Why the run stopped without an end in its log."""
        self.version = 0
        self._open_calls: set[str] = set()
        self._text_after = -1
        """The record that text which streams now came after."""
        self._waiting: set[asyncio.Future[None]] = set()

    def receive(self, record: ev.Record) -> None:
        """Take a record, or an event that is only shown, from the run's log."""
        if record.offset:
            self._show(record.event)
        else:
            self._advance(record)
        self.wake()

    def wake(self) -> None:
        self.version += 1
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def changed(self, since: int, timeout: float) -> bool:
        """Wait until something has happened since `since`, a version; False if nothing did in time."""
        if self.version != since:
            return True
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            async with asyncio.timeout(timeout):
                await future
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(future)
        return True

    def _show(self, event: ev.Event) -> None:
        last, add = self._text_after, self.open_message.add
        match event:
            case ev.AnswerDelta(text=text):
                add(ev.AnswerDelta("", provisional=True), last, text)
            case ev.AnswerRetracted() | ev.Reset():
                add(ev.AnswerRetracted(""), last, "\0")  # one character: it has a place of its own
            case ev.TextStreamed(component=component, text=text) if component in CONVERSATION:
                add(msgspec.structs.replace(event, text=""), last, text)
            case ev.ToolOutput(text=text):
                add(msgspec.structs.replace(event, text=""), last, text)
            case _:
                pass

    def _advance(self, record: ev.Record) -> None:
        """Begin a new message if the record opens or closes one."""
        self.stored = record.seq + 1
        event = record.event
        if isinstance(event, ev.AnswerPartial):  # it only stores what streams
            return
        self._text_after = record.seq
        match event:
            case ev.ThinkStarted(component=component) | ev.ThinkDone(component=component):
                opens = component in CONVERSATION or component in FORCED
            case ev.ThinkFailed(component=component):
                opens = component in CONVERSATION or component in ANSWERING or component in FORCED
            case ev.AnswerStarted() | ev.AnswerDone() | ev.RunFinished():
                opens = True
            case ev.ToolStarted(call=call):
                opens = not self._open_calls
                self._open_calls.add(call.id)
            case ev.ToolDone(call_id=call_id):
                self._open_calls.discard(call_id)
                opens = not self._open_calls
            case _:
                opens = False
        if opens:
            self.open_message = OpenMessage(record.seq)
