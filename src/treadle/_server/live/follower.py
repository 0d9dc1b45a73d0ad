"""Following a run from any place in it, live or finished: each event once, in order, for as long as somebody reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from itertools import takewhile
from typing import Any

from treadle._journal.base import Journal
from treadle._server.live.channel import Channel, Piece, Tail
from treadle._server.live.projection import START, Detail, Position, Projection, Shown
from treadle._server.live.sse import HEARTBEAT, encode
from treadle._server.settings import ServerSettings
from treadle._types.errors import RunNotFoundError
from treadle._types.events import Record

_AT_ONCE = 200
"""Records turned into events in one go, so that a long log does not become one huge chunk."""


class Follower:
    """One client's place in a run. It holds no events: it reads the log, and the open message behind it."""

    def __init__(self, channel: Channel, journal: Journal, after: Position = START, detail: Detail = "plain") -> None:
        self.channel = channel
        self.projection = Projection(detail)
        self._journal = journal
        self._after = after
        self.behind = True
        """Whether the log is known to go on."""
        self._fed = 0
        self._tail: Tail | None = None
        self._next_piece = 0

    async def step(self) -> list[Shown]:
        """What this client has not seen of what has happened since the last step."""
        records = await self._records()
        self.behind = bool(records)
        shown: list[Shown] = []
        for record in records:
            shown += self._open_text(record.seq)
            self._fed = record.seq + 1
            shown += self.projection.feed(record)
        if len(records) < _AT_ONCE and not self.projection.finished:
            shown += self._open_text(self.channel.stored)
        return [rest for event in shown if (rest := event.after(self._after)) is not None]

    async def _records(self) -> list[Record]:
        if (log := self.channel.records) is not None:
            return list(log[self._fed : min(self._fed + _AT_ONCE, self.channel.stored)])
        try:
            return (await self._journal.load(self.channel.run_id, after=self._fed - 1))[:_AT_ONCE]
        except RunNotFoundError:  # a child run that has not begun yet
            return []

    def _open_text(self, before: int) -> Iterator[Shown]:
        """What came of the open message before that record, and has not been shown."""
        tail = self.channel.tail
        if tail is not self._tail:
            self._tail, self._next_piece = tail, tail.first
        if tail.base >= self._fed or self._next_piece < tail.first:
            return  # not there yet, or too far behind: the record of the whole message will bring the rest
        fresh = list(takewhile(lambda piece: piece.seq < before, tail.pieces[self._next_piece - tail.first :]))
        self._next_piece += len(fresh)
        for group in _alike(fresh):
            text = "".join(piece.text for piece in group)
            piece = (
                self.projection.piece(text) if group[0].kind == "answer" else self._extra(group[0], text, group[-1].end)
            )
            if piece is not None:
                yield piece

    def _extra(self, piece: Piece, text: str, end: int) -> Shown | None:
        """A thought, or output of a call. Calls that run side by side write in turn, so their output is numbered together,
        behind the record it came after."""
        if not self.projection.full:
            return None
        name, iteration, reasoning = piece.source
        data: dict[str, Any] = {"content": text}
        if piece.kind == "thought":
            data |= {"component": name, "iteration": iteration, "reasoning": reasoning}
        elif self.projection.is_open(name):
            data |= {"call_id": name, "tool_name": piece.tool}
        else:
            return None  # its whole observation has been shown
        return Shown(piece.kind, data, Position(piece.seq, end), end - len(text))


def _alike(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Neighbours of one source together: a client that reads slowly gets longer pieces, not more of them."""
    group: list[Piece] = []
    for piece in pieces:
        if group and (piece.kind, piece.seq, piece.source) != (group[0].kind, group[0].seq, group[0].source):
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


async def follow(follower: Follower, settings: ServerSettings) -> AsyncGenerator[bytes, None]:
    """The stream of one client. It ends after the run's last event, or when the server stops."""
    channel = follower.channel
    channel.followers += 1
    silent = 0.0
    try:
        yield b"retry: 1000\n\n"
        while not channel.closed:
            version = channel.version
            shown = await follower.step()
            for chunk in encode(shown):
                silent = 0.0
                yield chunk
            if follower.projection.finished:
                return
            if shown and not follower.behind:
                await asyncio.sleep(settings.flush)  # nothing but text was new
            if shown or follower.behind:
                continue
            if channel.broken:
                broken = Shown(
                    "error", {"type": "broken", "message": channel.broken}, Position(follower.projection.state.seq)
                )
                for chunk in encode([broken]):
                    yield chunk
                return
            wait = settings.heartbeat - silent if channel.live else min(settings.poll, settings.heartbeat)
            if not await channel.changed(version, wait):
                silent += wait
                if silent >= settings.heartbeat:
                    silent = 0.0
                    yield HEARTBEAT
    finally:
        channel.followers -= 1
