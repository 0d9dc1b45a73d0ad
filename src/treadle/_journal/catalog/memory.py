"""Lists and sums over runs in memory: the same tables and statements as in a file, filled when somebody asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from treadle._journal.base import RunInfo, annotations_of
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.sqlite import prepare_reader, run, words
from treadle._journal.catalog.tables import REQUESTS, SPENDING, SUMMARIES, TABLES, TITLES, for_sqlite
from treadle._journal.catalog.values import SAID, ToolUse
from treadle._journal.rows import tag
from treadle._journal.sqlite_store import connected
from treadle._types.events import Record, encode_event

_TABLES = (
    """CREATE TABLE runs(
        run TEXT PRIMARY KEY, parent TEXT, agent TEXT, model TEXT, question TEXT, conversation TEXT, user TEXT,
        status TEXT, stop_reason TEXT, created REAL, updated REAL, records INTEGER, n INTEGER)""",
    "CREATE TABLE records(run TEXT, data TEXT)",
    *for_sqlite((*SUMMARIES, *TITLES, *REQUESTS, *SPENDING)),
)
_COLUMNS = RunInfo.__struct_fields__[:12]
WORDS = words("r.updated", "r.records", "l.run = r.run")


def new_catalog() -> sqlite3.Connection:
    con = connected("file::memory:")
    prepare_reader(con)
    for statement in _TABLES:
        con.execute(statement)
    return con


def bring_up_to_date(
    con: sqlite3.Connection,
    changed: Iterable[str],
    infos: Mapping[str, RunInfo],
    tools: Mapping[str, Mapping[str, ToolUse]],
) -> None:
    for run_id in changed:
        for table in ("runs", *TABLES):
            if table != "requests" or run_id not in infos:
                con.execute(f"DELETE FROM {table} WHERE run = ?", (run_id,))
        if info := infos.get(run_id):
            values = (*(getattr(info, name) for name in _COLUMNS), sql.read_cursor(info.cursor)[1])
            con.execute(f"INSERT INTO runs VALUES({', '.join('?' * len(values))})", values)
            if info.summary is not None:
                run(con, sql.store_summary(run_id, info.summary, tools.get(run_id, {})))
            run(con, sql.store_annotations(run_id, annotations_of(info)))


def fill_records(con: sqlite3.Connection, logs: Mapping[str, Sequence[Record]]) -> None:
    """For a search in what was said; without one, no record is copied."""
    con.execute("DELETE FROM records")
    searched = (*SAID, "run_started")
    con.executemany(
        "INSERT INTO records VALUES(?, ?)",
        (
            (run_id, encode_event(record.event).decode())
            for run_id, records in logs.items()
            for record in records
            if tag(type(record.event)) in searched
        ),
    )
