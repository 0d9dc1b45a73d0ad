"""Export and import of runs as JSON lines: to send a run, keep it as a regression test, or move it to another journal.

The first line is a header; every other line is one record: those of the run first, then those of its child runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle._journal.base import Journal, RunInfo, annotations_of
from treadle._journal.catalog.values import MAX_TAGS, Annotations
from treadle._journal.upcast import decode_stored
from treadle._types.errors import JournalError, RunNotFoundError
from treadle._types.events import SCHEMA, Forked, Paused, Record, RunFinished, RunStarted

FORMAT = "treadle-run"
IMPORTED, RECORDED = "imported", "recorded"
FOREIGN = {IMPORTED, RECORDED}
"""Tags of runs that were made elsewhere: what they say may be a stranger's."""


class _Header(Struct, frozen=True, omit_defaults=True):
    format: str
    schema: int
    run: str
    notes: dict[str, Annotations] = {}
    """What people noted about these runs."""


class _Line(Struct, frozen=True, omit_defaults=True):
    run: str
    seq: int
    time: float
    event: msgspec.Raw
    parent: str = ""


async def export_run(journal: Journal, run_id: str, *, salvage: bool = False, notes: bool = True) -> bytes:
    """Export a run and its children as JSON lines, with their annotations unless `notes` is False.

    With `salvage`, a damaged run is exported up to its first damaged record.
    """
    records = await journal.load(run_id, salvage=salvage)
    infos = [await journal.info(run_id), *await descendants(journal, run_id)]
    for child in infos[1:]:
        records.extend(await journal.load(child.run_id, salvage=salvage))
    noted = {info.run_id: annotations_of(info) for info in infos}
    annotated = {run: annotations for run, annotations in noted.items() if notes and annotations != Annotations()}
    # In a thread: a long run is many megabytes, and a server has other things to do.
    return await asyncio.to_thread(_written, _Header(FORMAT, SCHEMA, run_id, annotated), records)


def written(run_id: str, records: Sequence[Record]) -> bytes:
    """The records of one run as an exported run."""
    return _written(_Header(FORMAT, SCHEMA, run_id), records)


def _written(header: _Header, records: Sequence[Record]) -> bytes:
    return b"\n".join([msgspec.json.encode(header), *(msgspec.json.encode(record) for record in records), b""])


async def descendants(journal: Journal, run_id: str) -> list[RunInfo]:
    """The runs inside a run, and inside those."""
    inside: list[RunInfo] = []
    for child in await journal.list(parent=run_id, limit=1_000_000):
        inside += [child, *await descendants(journal, child.run_id)]
    return inside


def is_exported(data: bytes) -> bool:
    """Return whether the data starts like an exported run."""
    return f'"format":"{FORMAT}"'.encode() in data[:200].replace(b" ", b"")


async def import_run(journal: Journal, data: bytes) -> str:
    """Store an exported run and its children under their own ids, and return the run's id.

    Anybody can have written the file. So the run is a fork: its words are nobody's here, the decisions in it are
    dropped, and it is parked until a person resumes it. Refused when the journal already has a run with one of these
    ids.
    """
    header, logs = _read(data)
    for run, records in logs.items():
        starts = [number for number, record in enumerate(records) if isinstance(record.event, RunStarted)]
        if starts != [0]:
            raise JournalError(f"the exported run {run} does not begin once, with its first record")
        if run != header.run and records[0].parent not in logs:
            raise JournalError(f"the exported run {run} is inside {records[0].parent!r}, which is not in the file")
    logs = {run: _foreign(records, "" if run == header.run else records[0].parent) for run, records in logs.items()}
    for run in logs:
        try:
            await journal.load(run, after=0)
        except RunNotFoundError:
            continue
        raise JournalError(f"run {run} is already in this journal: delete it first")
    stored: list[str] = []
    try:
        for run, records in logs.items():
            await journal.append(records)
            stored.append(run)
        for run in logs:
            noted = header.notes.get(run, Annotations())
            tags = tuple(dict.fromkeys((*noted.tags[: MAX_TAGS - 1], IMPORTED)))
            await journal.annotate(run, tags=tags, note=noted.note, thumb=noted.thumb, title=noted.title)
    except BaseException:
        for run in stored[:1]:  # its children are deleted with it
            await journal.delete(run)
        raise
    return header.run


def _foreign(records: list[Record], parent: str) -> list[Record]:
    """The records of a run that was not made here, below a run of the same file or none."""
    records = [msgspec.structs.replace(record, parent=parent) for record in records]
    first, last = records[0], records[-1]
    if isinstance(first.event, RunStarted):
        started = msgspec.structs.replace(first.event, origin="imported", mark="")
        records[0] = msgspec.structs.replace(first, event=started)
    if isinstance(last.event, RunFinished):
        return records
    why = f"it was imported: look at it, then continue it with: treadle runs resume {first.run}"
    events = (Forked(first.run, last.seq + 1), Paused(why, parked=1))
    return [*records, *(msgspec.structs.replace(last, seq=last.seq + 1 + n, event=e) for n, e in enumerate(events))]


def read_export(data: bytes) -> tuple[str, dict[str, list[Record]]]:
    """The id of the exported run, and the records of each run in the export."""
    header, logs = _read(data)
    return header.run, logs


def _read(data: bytes) -> tuple[_Header, dict[str, list[Record]]]:
    header_line, *lines = data.splitlines() or [b""]
    try:
        header = msgspec.json.decode(header_line, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JournalError(f"this is not an exported run: {error}") from error
    if header.format != FORMAT:
        raise JournalError(f"this is not an exported run: its format is {header.format!r}, expected {FORMAT!r}")
    logs: dict[str, list[Record]] = {}
    for number, text in enumerate(lines, 2):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=_Line)
            event = decode_stored(bytes(line.event), header.schema)
        except (msgspec.DecodeError, KeyError, UnicodeDecodeError, RecursionError) as error:
            raise JournalError(f"line {number} of the exported run cannot be read: {error}") from error
        log = logs.setdefault(line.run, [])
        depth = event.depth if isinstance(event, RunStarted) else log[-1].depth if log else 0
        log.append(Record(line.run, line.seq, line.time, event, line.parent, 0, depth))
    if header.run not in logs:
        raise JournalError(f"the exported run {header.run} has no records")
    return header, logs
