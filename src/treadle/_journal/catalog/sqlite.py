"""The tables about whole runs in SQLite, and how statements about them are run there."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TypeVar

from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.values import SAID, Overview, RunFilter
from treadle._journal.rows import QUESTION_CHARS

T = TypeVar("T")

TABLES = ("summaries", "tool_use", "annotations", "tags", "requests")
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

REQUESTS = (
    """CREATE TABLE requests(
        key TEXT NOT NULL, run TEXT NOT NULL, content TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY(key, run)
        ) WITHOUT ROWID""",
    "CREATE INDEX requests_time ON requests(time)",
    "CREATE INDEX requests_run ON requests(run)",
)
TITLES = ("ALTER TABLE annotations ADD COLUMN title TEXT NOT NULL DEFAULT ''",)

_SAID = " OR ".join(f"""l.data LIKE '{{"type":"{kind}"%'""" for kind in SAID)
_LONG = f"""length(r.question) >= {QUESTION_CHARS} AND l.data LIKE '{{"type":"run_started"%'"""


def words(updated: str, records: str, log: str) -> sql.Words:
    """`log` is the condition for a record `l` to be of the run `r`."""
    return sql.Words(
        updated=updated,
        records=records,
        tags="(SELECT json_group_array(tag) FROM tags WHERE tags.run = r.run)",
        lower="treadle_lower",
        driven="SELECT value FROM json_each(:driven)",
        bucket="CAST(r.created / :span AS INTEGER)",
        begins="r.run >= :prefix AND r.run < :prefix || char(1114111)",  # so that the index is used
        text_records=f"SELECT 1 FROM records AS l WHERE {log} AND ({_SAID} OR ({_LONG}))",
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


def run(con: sqlite3.Connection, steps: sql.Steps[T]) -> T:
    try:
        statement, values = next(steps)
        while True:
            statement, values = steps.send(con.execute(statement.replace("{s}", ""), values).fetchall())
    except StopIteration as done:
        return done.value


def overview(con: sqlite3.Connection, only: RunFilter, spelt: sql.Words, driven: Sequence[str]) -> Overview:
    con.execute("BEGIN")  # one snapshot for all of it
    try:
        return run(con, sql.overview(only, spelt, driven))
    finally:
        con.execute("COMMIT")
