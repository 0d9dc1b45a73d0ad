"""What all journals share: records as rows and back, and the information about a run."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest

from treadle._journal.rows import (
    QUESTION_CHARS,
    from_rows,
    initial_info,
    refuse_if_fenced,
    refuse_unless_next,
    status_after,
    to_rows,
)
from treadle._types.errors import CorruptLogError, JournalError, RunBusyError
from treadle._types.events import SCHEMA, AnswerDelta, Noted, Paused, Record, Resumed, RunFinished

from .logs import done, log, record, started


def stored(records: list[Record]) -> list[Any]:
    return [(row.seq, row.time, row.parent, row.schema, row.data, row.sum) for row in to_rows(records)]


def test_records_survive_being_stored():
    records = log("a", parent="boss")
    assert from_rows("a", stored(records), -1, False, {}.get) == records
    assert from_rows("a", stored(records)[3:], 2, False, {}.get) == records[3:]


def test_a_row_carries_version_and_checksum():
    (row,) = to_rows([started("a")])
    assert (row.type, row.schema, row.sum) == ("run_started", SCHEMA, crc32(row.data))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([done("a", 2), done("a", 4)], "a#4 cannot follow a#2"),
        ([done("a", 2), done("b", 3)], "b#3 cannot follow a#2"),
        ([Record("a", 2, 0.0, AnswerDelta("x"), offset=1)], r"a#2\.1 cannot follow a#1"),
        ([record("a", 2, Noted("p", {"value": object()}))], r"a#2 \(noted\) cannot be written as JSON"),
    ],
)
def test_records_that_cannot_be_stored_together(records: list[Record], message: str):
    with pytest.raises(JournalError, match=message):
        to_rows(records)


def test_the_next_record_of_a_log():
    refuse_unless_next("a", 3, 2)
    with pytest.raises(RunBusyError, match="a#2 exists: another driver has continued the run to #2"):
        refuse_unless_next("a", 2, 2)
    with pytest.raises(JournalError, match=r"a#4 cannot be stored: the log ends at #2 \(was the run deleted\?\)"):
        refuse_unless_next("a", 4, 2)


def test_a_driver_without_the_claim_is_fenced_out():
    refuse_if_fenced("a", 3, 3, "me")
    refuse_if_fenced("a", 0, 2, "")  # nobody drives it, and this journal never did
    with pytest.raises(RunBusyError, match=r"driven by other now \(epoch 4\): the claim of this driver \(3\) is lost"):
        refuse_if_fenced("a", 3, 4, "other")
    with pytest.raises(RunBusyError, match="driven by nobody now"):
        refuse_if_fenced("a", 3, 4, "")


@pytest.mark.parametrize(
    ("change", "message", "intact"),
    [
        (lambda rows: [*rows[:2], *rows[3:]], r"a#2 is missing; the 2 records before it are intact", 2),
        (lambda rows: [*rows[:2], (*rows[2][:4], b"{}", rows[2][5]), *rows[3:]], "a#2 is damaged: its checksum", 2),
        (lambda rows: [(*rows[0][:4], b"{", crc32(b"{")), *rows[1:]], "a#0 cannot be read.*no records before it", 0),
    ],
)
def test_the_first_damaged_record_is_named(change: Any, message: str, intact: int):
    rows = change(stored(log("a")))
    with pytest.raises(CorruptLogError, match=message):
        from_rows("a", rows, -1, False, {}.get)
    assert len(from_rows("a", rows, -1, True, {}.get)) == intact


def test_the_information_about_a_run():
    info = initial_info(started("a", at=5.0, parent="boss", question="q" * 1000, conversation="c", user="ada"))
    assert (info.run_id, info.parent, info.agent, info.created, info.user) == ("a", "boss", "astronomer", 5.0, "ada")
    assert (info.status, len(info.question), info.conversation) == ("running", QUESTION_CHARS, "c")
    assert initial_info(done("a", 0)).agent == "", "a log that begins otherwise"


def test_the_status_after_an_event():
    assert status_after(RunFinished("answer")) == ("finished", "answer")
    assert status_after(RunFinished("paused")) == ("paused", "paused")
    assert status_after(Paused("approval")) == ("paused", "paused")
    assert status_after(Resumed()) == ("running", "")
    assert status_after(Noted("x")) is None
