"""The SQLite journal's tables about whole runs, and its statements over many of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from treadle._journal.base import RunInfo
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.changes import with_annotations
from treadle._journal.catalog.values import SAID, Annotations, Overview, RunFilter, RunSummary, ToolUse, span_of
from treadle._journal.rows import QUESTION_CHARS, not_found

TABLES = ("summaries", "tool_use", "annotations", "tags")
MIGRATION = (
    """CREATE TABLE summaries(
        run TEXT PRIMARY KEY, success INTEGER NOT NULL, iterations INTEGER NOT NULL, requests INTEGER NOT NULL,
        tool_calls INTEGER NOT NULL, failed_calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, cost REAL, elapsed REAL NOT NULL
        ) WITHOUT ROWID""",
    """CREATE TABLE tool_use(
        run TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL, failed INTEGER NOT NULL, elapsed REAL NOT NULL,
        PRIMARY KEY(run, tool)) WITHOUT ROWID""",
    "CREATE TABLE annotations(run TEXT PRIMARY KEY, note TEXT NOT NULL, thumb TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE tags(run TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(run, tag)) WITHOUT ROWID",
)

TITLES = ("ALTER TABLE annotations ADD COLUMN title TEXT NOT NULL DEFAULT ''",)

_SAID = " OR ".join(f"""l.data LIKE '{{"type":"{kind}"%'""" for kind in SAID)
_LONG = f"""length(r.question) >= {QUESTION_CHARS} AND l.data LIKE '{{"type":"run_started"%'"""


def words(updated: str, records: str, log: str) -> sql.Words:
    """`log` is the range of keys that the records of the run `r` have."""
    return sql.Words(
        updated=updated,
        records=records,
        tags="(SELECT json_group_array(tag) FROM tags WHERE tags.run = r.run)",
        lower="treadle_lower",
        driven="SELECT value FROM json_each(:driven)",
        bucket="CAST(r.created / :span AS INTEGER)",
        begins="r.run >= :prefix AND r.run < :prefix || char(1114111)",  # so that the index is used
        text_records=f"SELECT 1 FROM records AS l WHERE l.key BETWEEN {log} AND ({_SAID} OR ({_LONG}))",
        like="LIKE",  # of ASCII letters it takes either case
    )


def prepare_reader(con: sqlite3.Connection) -> None:
    # SQLite itself knows the cases of ASCII only.
    con.create_function("treadle_lower", 1, str.lower, deterministic=True)


def add_missing_tables(con: sqlite3.Connection) -> None:
    """For a file of an older version that cannot be written: what it has not got, it has for this connection only."""
    if not con.execute("SELECT 1 FROM sqlite_master WHERE name = 'summaries'").fetchone():
        for statement in MIGRATION:
            con.execute(statement.replace("CREATE TABLE", "CREATE TEMP TABLE IF NOT EXISTS"))
    if "title" not in [column for _, column, *_ in con.execute("PRAGMA table_info(annotations)")]:
        con.execute("CREATE TEMP TABLE titled AS SELECT run, note, thumb, '' AS title FROM annotations")
        con.execute("DROP TABLE IF EXISTS temp.annotations")
        con.execute("ALTER TABLE temp.titled RENAME TO annotations")


def execute(con: sqlite3.Connection, statement: str, values: Mapping[str, Any] | None = None) -> list[Any]:
    return con.execute(statement.replace("{s}", ""), dict(values or {})).fetchall()


def list_runs(
    con: sqlite3.Connection, only: RunFilter, spelt: sql.Words, driven: Sequence[str], limit: int, after: str
) -> list[RunInfo]:
    rows = execute(con, *sql.list_runs(only, spelt, driven, limit, after))
    return [sql.info_of(row, driven) for row in rows]


def overview(con: sqlite3.Connection, only: RunFilter, spelt: sql.Words, driven: Sequence[str]) -> Overview:
    condition, values = sql.where(only, spelt, driven)

    def ask(statement: str, **more: float) -> list[Any]:
        return execute(con, statement, {**values, **more})

    con.execute("BEGIN")  # one snapshot for all of it
    try:
        (total,) = ask(sql.totals(condition))
        ended, (first, last) = total[1], total[-2:]
        span = span_of(first or 0.0, last or 0.0)
        elapsed = [ask(sql.nth_elapsed(condition), nth=nth)[0][0] if ended else 0.0 for nth in sql.positions(ended)]
        running, more = sql.where({**only, "status": "running"}, spelt, driven)
        same = only.get("status", "") in ("", "running")
        answers = sql.Answers(
            total=total,
            statuses=ask(sql.counted("r.status", condition)),
            reasons=ask(sql.counted("r.stop_reason", condition)),
            thumbs=ask(sql.counted("a.thumb", condition)),
            tags=ask(sql.tags_counted(condition)),
            agents=ask(sql.grouped("agent", condition)),
            models=ask(sql.grouped("model", condition)),
            tools=ask(sql.tools(condition)),
            spans=ask(sql.by_time(condition, spelt), span=span),
            span=span,
            elapsed=(elapsed[0], elapsed[1]),
            driven=execute(con, sql.totals(running), more)[0][0] if same and driven else 0,
            pending=execute(con, sql.COUNT_UNSUMMARISED)[0][0],
        )
    finally:
        con.execute("COMMIT")
    return sql.overview_of(answers)


def unsummarised(con: sqlite3.Connection, limit: int) -> list[str]:
    return [run for (run,) in execute(con, sql.LIST_UNSUMMARISED, {"limit": limit})]


def store_summary(con: sqlite3.Connection, run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]) -> None:
    for statement, values in sql.store_summary(run_id, summary, tools):
        execute(con, statement, values)


def info(con: sqlite3.Connection, run_id: str, spelt: sql.Words, driven: Sequence[str]) -> RunInfo:
    rows = execute(con, *sql.one_run(run_id, spelt))
    if not rows:
        raise not_found(run_id)
    return sql.info_of(rows[0], driven)


def annotate(con: sqlite3.Connection, before: RunInfo, noted: Annotations) -> RunInfo:
    for statement, values in sql.store_annotations(before.run_id, noted):
        execute(con, statement, values)
    return with_annotations(before, noted)
