"""A client's stream of a run, live or finished, from any position: each event once, in order. A client reads the data
that are masked in the log: in the answer, and in calls that wait for a person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import groupby, takewhile
from typing import Any

import msgspec

from treadle._engine.core.masks import Masks
from treadle._journal.base import Journal
from treadle._server.live.channel import Channel, OpenMessage
from treadle._server.live.positions import START, ClientEvent, Position
from treadle._server.live.projection import Detail, Projection
from treadle._server.live.sse import encode
from treadle._server.settings import ServerSettings
from treadle._types.errors import RunNotFoundError
from treadle._types.events import AnswerDelta, AnswerPartial, Record
from treadle._view.items import Call, Interrupt, Item, Turn

_BATCH = 200
"""How many records are turned into events at a time, so that a long log does not become one huge chunk."""
_READ = frozenset(("answer", "done", "error", "thought", "phase"))
_NOT_RESTORED = (Turn, Interrupt)
"""Kinds of items that a client gets as they are in the log. So are calls, unless a person is asked about them."""


class Follower:
    """How far one client has read a run. It holds no events: it reads the log and the message that is open."""

    def __init__(
        self,
        channel: Channel,
        journal: Journal,
        after: Position = START,
        detail: Detail = "plain",
        masks: Masks | None = None,
    ) -> None:
        """`masks`: what is masked in the log is restored for this client."""
        self.channel = channel
        self._restoring = Restoring(masks) if masks is not None else None
        self.projection = Projection(detail, after)
        self._journal = journal
        self._after = after
        self.behind = True
        """Whether the last step read records, so that there may be more."""
        self._fed = 0
        self._open_message: OpenMessage | None = None
        self._next_piece = 0
        self._text_after = -1
        self._saved = 0

    async def step(self) -> list[ClientEvent]:
        """The events since the last step that this client has not seen."""
        records = await self._records()
        self.behind = bool(records)
        events: list[ClientEvent] = []
        for record in records:
            events += self._open_text(record.seq)
            self._fed = record.seq + 1
            if not isinstance(record.event, AnswerPartial):
                self._text_after, self._saved = record.seq, 0
            events += self.projection.feed(record)
        if len(records) < _BATCH and not self.projection.finished:
            events += self._open_text(self.channel.stored)
            if self.channel.records is None and not self.channel.open_message.pieces:
                events += self._saved_text()
        fresh = [rest for event in events if (rest := event.after(self._after)) is not None]
        return fresh if self._restoring is None else list(self._restoring.events(fresh))

    async def _records(self) -> list[Record]:
        if (log := self.channel.records) is not None:
            return list(log[self._fed : min(self._fed + _BATCH, self.channel.stored)])
        try:
            return (await self._journal.load(self.channel.run_id, after=self._fed - 1))[:_BATCH]
        except RunNotFoundError:  # a child run that has not started yet
            return []

    def _open_text(self, before: int) -> Iterator[ClientEvent]:
        """The text of the open message that came before that record and has not been shown."""
        message = self.channel.open_message
        if message is not self._open_message:
            self._open_message, self._next_piece = message, message.first
        if message.base >= self._fed or self._next_piece < message.first:
            return  # not opened yet, or its beginning was dropped: the record of the complete message brings the rest
        fresh = list(takewhile(lambda piece: piece.seq < before, message.pieces[self._next_piece - message.first :]))
        self._next_piece += len(fresh)
        # Adjacent pieces of one source at once: a client that reads slowly gets longer pieces, not more of them.
        for (source, seq), group in groupby(fresh, lambda piece: (piece.source, piece.seq)):
            pieces = list(group)
            text = "".join(piece.text for piece in pieces)
            yield from self.projection.live(source, text, Position(seq, pieces[-1].end))

    def _saved_text(self) -> Iterator[ClientEvent]:
        """Return what the log has of an answer that another process writes, or was writing when it died."""
        text = self.projection.state.answer.partial[self._saved :]
        if not text:
            return
        self._saved += len(text)
        at = Position(self._text_after, self._saved)
        yield from self.projection.live(AnswerDelta("", provisional=True), text, at)


class Restoring:
    """The events of one client. Positions are those of the stored text: a piece that may end inside a placeholder waits
    for the next one, so that a client that comes back is never in the middle of one."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._held: ClientEvent | None = None

    def events(self, events: Iterable[ClientEvent]) -> Iterator[ClientEvent]:
        for event in events:
            held, self._held = self._held, None
            if event.text_from < 0:
                yield from () if held is None else (self._restored(held),)
                if event.name == "items":
                    yield self._restored_items(event)
                else:
                    yield self._restored(event) if event.name in _READ else event
                continue
            if held is not None and (held.name, held.data.get("item")) == (event.name, event.data.get("item")):
                event = _joined(held, event)
            elif held is not None:
                yield self._restored(held)
            text = str(event.data["content"])
            if self._masks.open_from(text) < len(text):
                self._held = event
            else:
                yield self._restored(event)

    def _restored(self, event: ClientEvent) -> ClientEvent:
        return msgspec.structs.replace(event, data=self._masks.restored(event.data))

    def _restored_items(self, event: ClientEvent) -> ClientEvent:
        restored = self._masks.restored
        items = [restored(msgspec.to_builtins(item)) if _is_read(item) else item for item in event.data["items"]]
        return msgspec.structs.replace(event, data={"items": items})


def _is_read(item: Item) -> bool:
    return item.state == "asked" if isinstance(item, Call) else not isinstance(item, _NOT_RESTORED)


def _joined(first: ClientEvent, second: ClientEvent) -> ClientEvent:
    data: dict[str, Any] = {**second.data, "content": f"{first.data['content']}{second.data['content']}"}
    return ClientEvent(second.name, data, second.at, first.text_from)


async def follow(follower: Follower, settings: ServerSettings) -> AsyncGenerator[bytes, None]:
    """The stream of one client. It ends after the run's last event, or when the server stops."""
    channel = follower.channel
    channel.followers += 1
    try:
        yield b"retry: 1000\n\n"
        while not channel.closed:
            version = channel.version
            events = await follower.step()
            for chunk in encode(events, follower.projection.whose):
                yield chunk
            if follower.projection.finished:
                return
            if events and not follower.behind:
                await asyncio.sleep(settings.flush)  # only text was new
            if events or follower.behind:
                continue
            if channel.failure:
                failure = ClientEvent(
                    "error", {"type": "broken", "message": channel.failure}, Position(follower.projection.state.seq)
                )
                for chunk in encode([failure], follower.projection.whose):
                    yield chunk
                return
            await channel.changed(version, settings.heartbeat if channel.live else settings.poll)
    finally:
        channel.followers -= 1
