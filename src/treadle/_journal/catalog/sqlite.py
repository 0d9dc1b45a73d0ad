"""The tables about whole runs in SQLite, and how statements about them are run there."""

from __future__ import annotations

import sqlite3
from typing import TypeVar

from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.tables import SUMMARIES, for_sqlite
from treadle._journal.catalog.values import SAID
from treadle._journal.rows import QUESTION_CHARS

T = TypeVar("T")

_SAID = " OR ".join(f"""l.data LIKE '{{"type":"{kind}"%'""" for kind in SAID)
_LONG = f"""length(r.question) >= {QUESTION_CHARS} AND l.data LIKE '{{"type":"run_started"%'"""


def words(updated: str, records: str, log: str) -> sql.Words:
    """`log` is the condition for a record `l` to be of the run `r`."""
    return sql.Words(
        updated=updated,
        records=records,
        tags="(SELECT json_group_array(tag) FROM tags WHERE tags.run = r.run)",
        lower="treadle_lower",
        listed="SELECT value FROM json_each(:listed)",
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
        for statement in for_sqlite(SUMMARIES):
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
