"""The tables about whole runs, the same in SQLite and in Postgres; `{s}` is the place of the tables."""

from __future__ import annotations

from collections.abc import Sequence

TABLES = ("summaries", "tool_use", "annotations", "tags", "requests")
SUMMARIES = (
    """CREATE TABLE {s}summaries(
        run TEXT PRIMARY KEY, success INTEGER NOT NULL, iterations INTEGER NOT NULL, requests INTEGER NOT NULL,
        tool_calls INTEGER NOT NULL, failed_calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, cost REAL, elapsed REAL NOT NULL
        ) WITHOUT ROWID""",
    """CREATE TABLE {s}tool_use(
        run TEXT NOT NULL, tool TEXT NOT NULL, calls INTEGER NOT NULL, failed INTEGER NOT NULL, elapsed REAL NOT NULL,
        PRIMARY KEY(run, tool)) WITHOUT ROWID""",
    "CREATE TABLE {s}annotations(run TEXT PRIMARY KEY, note TEXT NOT NULL, thumb TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE {s}tags(run TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(run, tag)) WITHOUT ROWID",
)
TITLES = ("ALTER TABLE {s}annotations ADD COLUMN title TEXT NOT NULL DEFAULT ''",)
REQUESTS = (
    """CREATE TABLE {s}requests(
        key TEXT NOT NULL, run TEXT NOT NULL, content TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY(key, run)
        ) WITHOUT ROWID""",
    "CREATE INDEX requests_time ON {s}requests(time)",
    "CREATE INDEX requests_run ON {s}requests(run)",
)
SPENDING = ("CREATE TABLE {s}spending(key TEXT PRIMARY KEY, usage TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID",)


def for_sqlite(statements: Sequence[str]) -> tuple[str, ...]:
    return tuple(statement.replace("{s}", "") for statement in statements)


def for_postgres(statements: Sequence[str]) -> str:
    script = ";".join(statements).replace("{s}", "{s}.")
    return script.replace(" INTEGER", " bigint").replace(" REAL", " float8").replace(" WITHOUT ROWID", "")
