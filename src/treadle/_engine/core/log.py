"""Emitting: journal first, then the state, then whoever watches. One order, one `seq`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from treadle._engine.core.redaction import EventRedactor, LiveRedaction
from treadle._journal.base import Journal
from treadle._journal.catalog.values import summary_of
from treadle._safety.beside import LONG, read_beside
from treadle._safety.logs import get_logger, log_handled
from treadle._safety.tree import size_of
from treadle._types.errors import JournalError
from treadle._types.events import AnswerDelta, AnswerRetracted, Event, Record, Reset, RunFinished
from treadle._types.state import RunState

if TYPE_CHECKING:
    from treadle._engine.core.masks import Masks

logger = get_logger()

Sink = Callable[[Record], None]


class Log:
    """The append-only log of one run and the state it folds to."""

    def __init__(
        self,
        run_id: str,
        *,
        parent: str = "",
        depth: int = 0,
        journal: Journal | None = None,
        redact: EventRedactor | None = None,
        masks: Masks | None = None,
        records: Sequence[Record] = (),
    ) -> None:
        self.run_id = run_id
        self.parent = parent
        self.depth = depth
        self.journal = journal
        self.records: list[Record] = []
        self.state = RunState()
        self._redact = redact
        self._masks = masks
        self._live: LiveRedaction | None = None
        self._sinks: list[Sink] = []
        self._quiet: list[Sink] = []
        self._lock = asyncio.Lock()
        self._offset = 0
        self._answer: list[str] = []
        self.deferred: list[Record] = []
        self._inline: bool = getattr(journal, "inline", False)
        """The journal nearly always stores at once: an emit then needs no task to be safe from cancellation."""
        for record in records:
            self.records.append(record)
            self.state.apply(record)

    def subscribe(self, sink: Sink, *, live: bool = True, restored: bool = True) -> Callable[[], None]:
        """Have every later record (and transient event) shown to `sink`; returns what ends it.

        Nothing is streamed for a sink that is not `live`: it watches without changing how models are called. Any
        other gets the answer with the data that are masked in the log, unless it is not to be `restored`.
        """
        if self._masks is not None and live and restored:
            sink = self._masks.sink(sink)
        self._sinks.append(sink)
        if not live:
            self._quiet.append(sink)
        return lambda: self._drop(sink)

    def _drop(self, sink: Sink) -> None:
        for sinks in (self._sinks, self._quiet):
            if sink in sinks:
                sinks.remove(sink)

    async def emit(self, *events: Event) -> None:
        """Store events, fold them, show them. A journal that fails stops the run; a display that fails is dropped."""
        if self._is_long(events):
            await _uninterrupted(self._mask_and_store(events))
            return
        if self.journal is None:
            for event in events:
                self._keep(self._clean(event))
            return
        if self._redact is not None or self._masks is not None:
            events = tuple(self._clean(event) for event in events)
        storing = self._store(self.journal, events)
        if self._inline:
            try:
                waiting = storing.send(None)
            except StopIteration:
                return
            storing = _go_on(storing, waiting)
        await _uninterrupted(storing)

    async def defer(self, event: Event) -> None:
        """Fold an event now and store it together with the next one. Only for an event on which nothing is done or
        shown before that: a crash in between is a crash before the event."""
        if self._lock.locked() or self._is_long(event):
            await self.emit(event)
            return
        if self.journal is None:
            self._keep(self._clean(event))
            return
        record = self._record(self._clean(event), self.state.seq + 1)
        self.deferred.append(record)
        self.records.append(record)
        self.state.apply(record)

    def _keep(self, event: Event) -> None:
        """Without a journal there is nothing to wait for."""
        if self._live is not None:
            self._show_ends(self._live, event)
        self._offset = 0
        record = Record(self.run_id, self.state.seq + 1, time.time(), event, self.parent, 0, self.depth)
        self.records.append(record)
        self.state.apply(record)
        if self._sinks:
            self.forward(record)

    def _is_long(self, value: Any) -> bool:
        """Return whether masking it would keep everything else from running."""
        return self._masks is not None and size_of(value) >= LONG

    async def _mask_and_store(self, events: Sequence[Event]) -> None:
        clean = await read_beside(LONG, lambda: [self._clean(event) for event in events])
        if self.journal is not None:
            await self._store(self.journal, clean)
            return
        for event in clean:
            self._keep(event)

    async def _store(self, journal: Journal, events: Sequence[Event]) -> None:
        async with self._lock:
            deferred, self.deferred = self.deferred, []
            records = [self._record(event, self.state.seq + 1 + index) for index, event in enumerate(events)]
            await journal.append([*deferred, *records])
            if self._live is not None:
                for record in (*deferred, *records):
                    self._show_ends(self._live, record.event)
            if self._sinks:
                for record in deferred:
                    self.forward(record)
            self._commit(records)
            if self.state.finished is not None and isinstance(events[-1], RunFinished):
                with suppress(JournalError):  # the run has ended: who asks for an overview makes up for it
                    await journal.summarise(self.run_id, *summary_of(self.state))

    def show(self, event: Event) -> None:
        """Show a transient event: it gets an offset within the last record and is not stored."""
        if not self._sinks:
            return
        if self._redact is None:
            self._show(event)
            return
        if self._live is None:
            self._live = LiveRedaction(self._redact)
        for piece in self._live.pieces(event):
            self._show(piece)

    @property
    def shown_answer(self) -> str:
        """Return what whoever watches has seen of the answer, without secrets, and what was not taken back."""
        return "".join(self._answer)

    async def as_shown(self, text: str) -> str:
        """A whole text as whoever watches sees it: without secrets."""
        text = text if self._redact is None else self._redact.text(text)
        return text if self._masks is None else await self._masks.taken(text)

    def _clean(self, event: Event) -> Event:
        """An event without secrets, and with what is masked."""
        event = event if self._redact is None else self._redact(event)
        return event if self._masks is None else self._masks.masked(event)

    def _show(self, event: Event) -> None:
        self._offset += 1
        if isinstance(event, AnswerDelta):
            self._answer.append(event.text)
        elif isinstance(event, AnswerRetracted | Reset):
            self._answer.clear()
        self.forward(Record(self.run_id, self.state.seq, time.time(), event, self.parent, self._offset, self.depth))

    def _show_ends(self, live: LiveRedaction, event: Event) -> None:
        """Texts that were being shown end with this record: nothing of them is held back any longer."""
        for piece in live.ends(event):
            self._show(piece)

    def forward(self, record: Record) -> None:
        """Show a record, of this run or of one of its children."""
        for sink in tuple(self._sinks):
            try:
                sink(record)
            except Exception:
                log_handled(logger, "a display failed and is dropped")
                self._drop(sink)

    @property
    def watched(self) -> bool:
        return len(self._sinks) > len(self._quiet)

    def _record(self, event: Event, seq: int) -> Record:
        return Record(self.run_id, seq, time.time(), event, self.parent, 0, self.depth)

    def _commit(self, records: Sequence[Record]) -> None:
        self._offset = 0
        for record in records:
            self.records.append(record)
            self.state.apply(record)
            if self._sinks:
                self.forward(record)


class _Continued:
    """The rest of a coroutine that was run up to its first suspension."""

    def __init__(self, work: Coroutine[Any, Any, None], waiting: Any) -> None:
        self._work = work
        self._waiting = waiting

    def __await__(self) -> Generator[Any, None, None]:
        while True:
            yield self._waiting
            try:
                self._waiting = self._work.send(None)
            except StopIteration:
                return


async def _go_on(work: Coroutine[Any, Any, None], waiting: Any) -> None:
    await _Continued(work, waiting)


async def _uninterrupted(storing: Coroutine[Any, Any, None]) -> None:
    """Store and fold as one: a cancellation that arrives in between is delivered afterwards, so that the record of a
    finished effect is never lost and the state never lags behind what is stored."""
    task = asyncio.ensure_future(storing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
        except Exception:
            break
    task.result()
    if cancelled is not None:
        raise cancelled
