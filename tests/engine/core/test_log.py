"""Emitting: stored before it counts, in one order, whole in spite of a cancellation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from treadle._engine.core.log import Log
from treadle._engine.core.redaction import event_redactor
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.errors import JournalError
from treadle._types.events import Record
from treadle._types.messages import UserMessage
from treadle._types.state import fold


class SlowJournal(MemoryJournal):
    """Stores when it is told to."""

    inline = False

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.release = asyncio.Event()

    async def append(self, records: Sequence[Record]) -> None:
        self.asked.set()
        await self.release.wait()
        await super().append(records)


class HesitantJournal(SlowJournal):
    """Claims to store at once, and then has to wait after all."""

    inline = True


class BrokenJournal(MemoryJournal):
    async def append(self, records: Sequence[Record]) -> None:
        raise JournalError("the disk is full")


def note(text: str) -> ev.MessageAdded:
    return ev.MessageAdded(UserMessage(text))


def texts(records: Sequence[Record]) -> list[str]:
    return [getattr(getattr(r.event, "message", None), "content", type(r.event).__name__) for r in records]


JOURNALS: list[Any] = [lambda: None, MemoryJournal]


@pytest.mark.parametrize("journal", JOURNALS, ids=["no journal", "a journal"])
async def test_what_is_emitted_is_recorded_folded_and_shown_in_one_order(journal: Any):
    kept = journal()
    log, seen = Log("run", parent="above", journal=kept), list[Record]()
    log.subscribe(seen.append)
    await log.emit(ev.RunStarted("q"), note("a"))
    await log.emit(note("b"))
    assert [record.seq for record in log.records] == [0, 1, 2]
    assert {(record.run, record.parent) for record in log.records} == {("run", "above")}
    assert seen == log.records
    assert log.state.seq == 2
    assert fold(log.records).messages() == log.state.messages()
    if kept is not None:
        assert await kept.load("run") == log.records


async def test_a_log_goes_on_where_its_records_end():
    first = Log("run")
    await first.emit(ev.RunStarted("q"), note("a"))
    again = Log("run", records=first.records)
    await again.emit(note("b"))
    assert texts(again.records) == ["RunStarted", "a", "b"]
    assert again.records[-1].seq == 2


async def test_what_could_not_be_stored_did_not_happen():
    log, seen = Log("run", journal=BrokenJournal()), list[Record]()
    log.subscribe(seen.append)
    with pytest.raises(JournalError, match="the disk is full"):
        await log.emit(ev.RunStarted("q"))
    assert (log.records, log.state.seq, seen) == ([], -1, [])


@pytest.mark.parametrize("kind", [SlowJournal, HesitantJournal])
async def test_a_cancellation_waits_until_what_is_being_stored_is_stored_and_folded(kind: type[SlowJournal]):
    journal = kind()
    log = Log("run", journal=journal)
    task = asyncio.ensure_future(log.emit(ev.RunStarted("q")))
    await journal.asked.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    journal.release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await journal.load("run") == log.records
    assert log.state.seq == 0


async def test_a_failure_of_the_journal_wins_over_a_cancellation():
    class Failing(SlowJournal):
        async def append(self, records: Sequence[Record]) -> None:
            self.asked.set()
            await self.release.wait()
            raise JournalError("gone")

    journal = Failing()
    log = Log("run", journal=journal)
    task = asyncio.ensure_future(log.emit(ev.RunStarted("q")))
    await journal.asked.wait()
    task.cancel()
    journal.release.set()
    with pytest.raises(JournalError, match="gone"):
        await task
    assert log.records == []


async def test_emitters_at_once_get_numbers_of_their_own():
    journal = SlowJournal()
    journal.release.set()
    log = Log("run", journal=journal)
    await log.emit(ev.RunStarted("q"))
    await asyncio.gather(*(log.emit(note(f"{n} a"), note(f"{n} b")) for n in range(10)))
    assert [record.seq for record in log.records] == list(range(21))
    said = texts(log.records)[1:]
    assert [(a[0], b[0]) for a, b in zip(said[::2], said[1::2], strict=True)] == [(str(n), str(n)) for n in range(10)]


async def test_a_deferred_event_counts_at_once_and_is_stored_with_the_next_one():
    journal = MemoryJournal()
    log, seen = Log("run", journal=journal), list[Record]()
    log.subscribe(seen.append)
    await log.emit(ev.RunStarted("q"))
    await log.defer(note("later"))
    assert log.state.seq == 1
    assert texts(await journal.load("run")) == ["RunStarted"]
    assert texts(seen) == ["RunStarted"]
    await log.emit(note("now"))
    assert texts(await journal.load("run")) == texts(log.records) == texts(seen) == ["RunStarted", "later", "now"]
    assert log.deferred == []


async def test_without_a_journal_there_is_nothing_to_defer():
    log, seen = Log("run"), list[Record]()
    log.subscribe(seen.append)
    await log.defer(ev.RunStarted("q"))
    assert texts(seen) == texts(log.records) == ["RunStarted"]


async def test_while_something_is_being_stored_a_deferred_event_takes_its_turn():
    journal = SlowJournal()
    log = Log("run", journal=journal)
    first = asyncio.ensure_future(log.emit(ev.RunStarted("q")))
    await journal.asked.wait()
    second = asyncio.ensure_future(log.defer(note("after")))
    journal.release.set()
    await asyncio.gather(first, second)
    assert texts(await journal.load("run")) == ["RunStarted", "after"]


async def test_a_display_that_fails_is_dropped_and_the_run_goes_on(caplog: pytest.LogCaptureFixture):
    log, seen = Log("run"), list[Record]()

    def broken(record: Record) -> None:
        raise RuntimeError("no screen")

    log.subscribe(broken)
    log.subscribe(seen.append)
    with caplog.at_level(logging.WARNING, "treadle"):
        await log.emit(ev.RunStarted("q"))
        await log.emit(note("a"))
    assert len(seen) == 2
    assert [entry.message for entry in caplog.records] == ["a display failed and is dropped: RuntimeError: no screen"]


def test_only_a_live_display_makes_it_worth_streaming():
    log = Log("run")
    assert not log.watched
    stop_quiet = log.subscribe(lambda record: None, live=False)
    assert not log.watched
    stop_live = log.subscribe(lambda record: None)
    assert log.watched
    stop_live()
    assert not log.watched
    stop_live()  # a second time does no harm
    stop_quiet()


async def test_shown_pieces_lie_within_the_last_record_and_are_not_stored():
    journal = MemoryJournal()
    log, seen = Log("run", journal=journal), list[Record]()
    log.show(ev.AnswerDelta("nobody looks"))
    log.subscribe(seen.append)
    await log.emit(ev.RunStarted("q"))
    log.show(ev.AnswerDelta("a"))
    log.show(ev.AnswerDelta("b"))
    await log.emit(note("x"))
    log.show(ev.AnswerDelta("c"))
    assert [record.id for record in seen] == ["0", "0.1", "0.2", "1", "1.1"]
    assert len(await journal.load("run")) == len(log.records) == 2


@pytest.mark.parametrize("journal", JOURNALS, ids=["no journal", "a journal"])
async def test_secrets_are_taken_out_before_anything_sees_them(journal: Any):
    log, seen = Log("run", journal=journal(), redact=event_redactor(("hunter2",))), list[Record]()
    log.subscribe(seen.append)
    await log.emit(ev.RunStarted("q"), note("hunter2"))
    await log.defer(note("hunter2"))
    await log.emit()
    log.show(ev.AnswerDelta("hunter2"))
    assert "hunter2" not in repr((seen, log.records, log.state.messages()))
    assert repr(seen).count("[redacted:secret]") == 3


def test_records_of_a_child_are_passed_on_as_they_are():
    seen: list[Record] = []
    log = Log("run")
    log.subscribe(seen.append)
    child = Record("child", 3, 0.0, note("x"), "run")
    log.forward(child)
    assert seen == [child]
    assert log.records == []
