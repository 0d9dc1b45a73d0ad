"""Which run a request belongs to that may have been sent before.

A request is known again by a name that its client gave it, or by its content. A name stands for one run, however often
it comes. Equal content alone is a repetition only if the answer was lost on the way: the server that worked on it was
killed or stopped, or went on without its client. Whoever asks the same thing twice, at once or after an answer, gets
two runs.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from hashlib import blake2b

from msgspec import Struct

from treadle._journal.catalog.values import RequestNote
from treadle._server.errors import ApiError
from treadle._server.live.branches import OwnedRun
from treadle._server.live.hub import Hub
from treadle._types.errors import RunNotFoundError
from treadle._types.events import Resumed
from treadle._types.ids import fresh_id
from treadle._types.state import RunState, fold

_ANSWERLESS = ("error", "cancelled", "empty")
_LAST_BYTES = 0.5
"""Seconds another server has to send the end of an answer and to forget the request."""


class Place(Struct, frozen=True):
    """The run that answers a request."""

    run_id: str
    key: str
    found: bool
    """An earlier request has begun it."""
    named: bool = False
    """Its client named it: the run is found as long as the note lasts, and can outlive the connection."""


class Repeats:
    def __init__(self, hub: Hub, window: float) -> None:
        self._hub, self._journal, self._window = hub, hub.journal, window
        self._held: Counter[str] = Counter()
        """Runs whose clients are connected to this server."""

    async def named(self, name: tuple[str, ...], content: str) -> Place:
        """The run of the request that its client calls so."""
        key = digest("name", *name)
        note = await self._journal.note_request(key, RequestNote(fresh_id(), content), since=self._since())
        if note.content != content:
            raise ApiError(
                422, "key_reused", "this Idempotency-Key came with another request before: send a new one", again=False
            )
        return Place(note.run_id, key, found=await self.exists(note.run_id), named=True)

    async def anew(self, place: Place, content: str) -> Place:
        """Another run for the same name: the one it had failed, and its client was told to try again."""
        await self.forget(place)
        note = await self._journal.note_request(place.key, RequestNote(fresh_id(), content), since=self._since())
        return Place(note.run_id, place.key, found=await self.exists(note.run_id), named=True)

    async def like(self, content: str) -> Place:
        """The run that has lost its client and was asked the same, or a new one. It is held: release it."""
        key = digest("content", content)
        for note in await self._journal.noted_requests(key, since=self._since()):
            if await self._lost(key, note.run_id) and note.run_id not in self._held:  # nobody took it meanwhile
                place = Place(note.run_id, key, found=True)
                self.hold(place)
                return place
        note = await self._journal.note_request(key, RequestNote(fresh_id()), since=self._since(), alone=False)
        place = Place(note.run_id, key, found=False)
        self.hold(place)
        return place

    async def hear(self, name: str, run_id: str, target: str) -> None:
        """Note what a message to a run is for, before it gets it."""
        await self._journal.note_request(digest("heard", name), RequestNote(run_id, target), since=self._since())

    async def heard(self, name: str) -> str | None:
        """Return what the message was for when it came first; None if it comes for the first time."""
        notes = await self._journal.noted_requests(digest("heard", name), since=self._since())
        return notes[0].content if notes else None

    async def forget(self, place: Place) -> None:
        await self._journal.forget_request(place.key, place.run_id)

    def hold(self, place: Place) -> None:
        self._held[place.run_id] += 1

    def release(self, place: Place) -> None:
        self._held[place.run_id] -= 1
        if self._held[place.run_id] <= 0:
            del self._held[place.run_id]

    def _since(self) -> float:
        return time.time() - self._window

    async def exists(self, run_id: str) -> bool:
        try:
            return bool(await self._hub.records(OwnedRun(run_id)))
        except RunNotFoundError:
            return False

    async def _lost(self, key: str, run_id: str) -> bool:
        """Return whether a run has no client any more that its answer could reach."""
        if run_id in self._held:
            return False
        try:
            records = await self._hub.records(OwnedRun(run_id))
        except RunNotFoundError:
            return False  # its server ended before it began, or begins it just now
        state = fold(records)
        if state.finished is not None:
            return await self._undelivered(key, run_id, state)
        if run_id in self._hub.runs or state.paused is not None:
            return True
        if any(isinstance(record.event, Resumed) and record.event.reason == "restarted" for record in records):
            return True
        if not await self._journal.is_driven(run_id):
            return True
        # Another server drives it since its beginning, and so has its client; or it ended while we looked.
        return fold(await self._hub.records(OwnedRun(run_id))).finished is not None and await self._lost(key, run_id)

    async def _undelivered(self, key: str, run_id: str, state: RunState) -> bool:
        assert state.finished is not None
        if state.finished.stop_reason in _ANSWERLESS:
            await self._journal.forget_request(key, run_id)
            return False
        wait = _LAST_BYTES - abs(time.time() - state.updated)
        if wait <= 0:
            return True
        await asyncio.sleep(wait)
        return any(note.run_id == run_id for note in await self._journal.noted_requests(key, since=self._since()))


def digest(*parts: str | bytes) -> str:
    """One value for all parts; where one ends makes a difference."""
    total = blake2b(digest_size=24)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8) + data)
    return total.hexdigest()
