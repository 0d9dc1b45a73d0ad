"""Shared by all journals: check a batch of records, convert records to rows and back, describe a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple
from zlib import crc32

import msgspec

from treadle._journal.base import RunInfo
from treadle._journal.blobs import Lookup, attached, detached, may_hold_content, references
from treadle._journal.catalog.values import cursor_of
from treadle._journal.upcast import decode_stored
from treadle._types.errors import CorruptLogError, JournalError, RunBusyError, RunNotFoundError
from treadle._types.events import SCHEMA, Event, Paused, Record, Resumed, RunFinished, RunStarted, encode_event
from treadle._types.messages import text_of

QUESTION_CHARS = 500
_NOTHING: Mapping[str, bytes] = {}


class Row(NamedTuple):
    """A record as a row of a table. The checksum `sum` finds damage that is still valid JSON."""

    run: str
    seq: int
    time: float
    parent: str
    type: str
    schema: int
    data: bytes
    sum: int
    contents: Mapping[str, bytes] = {}
    """What is kept beside the row, by SHA-256."""


def to_rows(records: Sequence[Record]) -> list[Row]:
    """The rows of one append; `JournalError` for records that are not in order, of several runs, or not JSON."""
    run, seq = records[0].run, records[0].seq
    rows: list[Row] = []
    for record in records:
        if record.run != run or record.seq != seq or record.offset:
            raise JournalError(
                f"an append takes records of one run in order: {record.run}#{record.id} cannot follow {run}#{seq - 1}"
            )
        try:
            event, contents = record.event, _NOTHING
            data = encode_event(event)
            if may_hold_content(data):
                event, contents = detached(event)
                data = encode_event(event) if contents else data
        except (TypeError, ValueError) as error:
            raise JournalError(
                f"record {run}#{seq} ({tag(type(record.event))}) cannot be written as JSON: {error}"
            ) from error
        kind = tag(type(record.event))
        rows.append(Row(run, seq, record.time, record.parent, kind, SCHEMA, data, crc32(data), contents))
        seq += 1
    return rows


@cache
def tag(event: type[Event]) -> str:
    return str(event.__struct_config__.tag)


def refuse_unless_next(run: str, first: int, last: int) -> None:
    """`first` is the number of the record that a writer wants to store, `last` that of the last one stored."""
    if first <= last:
        raise RunBusyError(
            f"record {run}#{first} exists: another driver has continued the run to #{last}; load the run again"
        )
    if first > last + 1:
        raise JournalError(f"record {run}#{first} cannot be stored: the log ends at #{last} (was the run deleted?)")


def refuse_if_fenced(run: str, mine: int, epoch: int, owner: str) -> None:
    """`mine` is the epoch of this journal's claim of the run, 0 without; `epoch` and `owner` are those stored."""
    if epoch != mine and (owner or mine):
        raise RunBusyError(
            f"run {run} is driven by {owner or 'nobody'} now (epoch {epoch}): the claim of this driver ({mine}) is lost"
        )


def from_rows(
    run_id: str, rows: Iterable[tuple[int, float, str, int, bytes, int]], after: int, salvage: bool, contents: Lookup
) -> list[Record]:
    """Records from rows `(seq, time, parent, schema, data, sum)` in order.

    The first damaged or missing one is an error; with `salvage` those before it are returned. `contents` finds what is
    kept beside the rows.
    """
    records: list[Record] = []
    expected, depth = after + 1, -1
    try:
        for seq, time, parent, schema, data, checksum in rows:
            if seq != expected:
                raise CorruptLogError(f"record {run_id}#{expected} is missing")
            if crc32(data) != checksum:
                raise CorruptLogError(f"record {run_id}#{seq} is damaged: its checksum does not match")
            try:
                event = decode_stored(data, schema)
                if references(data):
                    event = attached(event, contents)
            except (msgspec.DecodeError, KeyError, UnicodeDecodeError, CorruptLogError) as error:
                raise CorruptLogError(f"record {run_id}#{seq} cannot be read: {error}") from error
            if isinstance(event, RunStarted):
                depth = event.depth
            elif depth < 0:  # the beginning was not read: a run inside another is at least one deep
                depth = 1 if parent else 0
            records.append(Record(run_id, seq, time, event, parent, 0, depth))
            expected += 1
    except CorruptLogError as error:
        if salvage:
            return records
        intact = (
            f"the {expected} records before it are intact: load(..., salvage=True) returns them"
            if expected
            else "there are no records before it"
        )
        raise CorruptLogError(f"{error}; {intact}") from error
    return records


def not_found(run_id: str) -> RunNotFoundError:
    return RunNotFoundError(f"there is no run {run_id!r} in this journal")


def initial_info(record: Record, number: int = 0) -> RunInfo:
    """The information about a run that begins with `record`; `number` is its place among those begun at one time."""
    event = record.event
    cursor = cursor_of(record.time, number) if number else ""
    if not isinstance(event, RunStarted):
        return RunInfo(record.run, record.parent, created=record.time, cursor=cursor)
    return RunInfo(
        run_id=record.run,
        parent=record.parent,
        agent=event.agent,
        model=event.model,
        question=text_of(event.question)[:QUESTION_CHARS],
        conversation=event.conversation,
        user=event.user,
        created=record.time,
        cursor=cursor,
    )


def status_after(event: Event) -> tuple[str, str] | None:
    """`(status, stop_reason)` of a run after an event that changes it."""
    if isinstance(event, RunFinished):
        return ("paused" if event.stop_reason == "paused" else "finished"), event.stop_reason
    if isinstance(event, Paused):
        return ("parked" if event.parked else "paused"), "paused"
    if isinstance(event, Resumed):
        return "running", ""
    return None
