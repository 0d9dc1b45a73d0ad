"""SQLite: opened read-only, every action authorized, interrupted when the time is up."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from treadle._tools.builtin.sql.rows import Limits, Rows, Schema, to_rows, to_schema
from treadle._types.errors import ToolError

_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_ALWAYS_DENIED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA})
_DENIED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
_LIMITS = (
    (sqlite3.SQLITE_LIMIT_LENGTH, 10_000_000),  # the largest value: stops zeroblob and printf bombs
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
)


class Sqlite:
    dialect = "SQLite"

    def __init__(self, path: str, limits: Limits) -> None:
        self._path = path
        self._limits = limits

    def query(self, query: str) -> Rows:
        with self._connected() as connection:
            connection.set_authorizer(self._authorize)
            cursor = connection.execute(query)
            columns = [entry[0] for entry in cursor.description or ()]
            rows = to_rows(columns, cursor, self._limits, None if columns else max(cursor.rowcount, 0))
            connection.set_authorizer(None)
            connection.commit()
            return rows

    def schema(self, table: str = "") -> Schema:
        listing = (
            "SELECT m.name, m.type, p.name || ' ' || p.type || iif(p.pk, ' PRIMARY KEY', '') "
            "|| iif(p.\"notnull\", ' NOT NULL', '') "
            "|| ifnull((SELECT ' REFERENCES ' || f.\"table\" || '(' || ifnull(f.\"to\", '') || ')' "
            "FROM pragma_foreign_key_list(m.name) AS f WHERE f.\"from\" = p.name), '') "
            "FROM sqlite_master AS m, pragma_table_info(m.name) AS p "
            "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY m.name, p.cid LIMIT 20000"
        )
        with self._connected() as connection:
            return to_schema(connection.execute(listing).fetchall(), table)

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        deadline = time.monotonic() + self._limits.timeout
        mode = "ro" if self._limits.read_only else "rw"
        try:
            with closing(
                sqlite3.connect(
                    f"{Path(self._path).absolute().as_uri()}?mode={mode}", uri=True, timeout=self._limits.timeout
                )
            ) as connection:
                for limit, value in _LIMITS:
                    connection.setlimit(limit, value)
                connection.execute("PRAGMA trusted_schema = OFF")
                if self._limits.read_only:
                    connection.execute("PRAGMA query_only = ON")
                connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
                yield connection
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise ToolError(self._explain(error, time.monotonic() > deadline)) from None

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _DENIED_FUNCTIONS:
            return sqlite3.SQLITE_DENY
        allowed = action in _READS if self._limits.read_only else action not in _ALWAYS_DENIED
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _explain(self, error: Exception, late: bool) -> str:
        message = str(error)
        if late and "interrupt" in message:
            return self._limits.too_slow
        if "not authorized" in message or "readonly" in message or "prohibited" in message:
            return "refused: this database is read-only here" if self._limits.read_only else f"refused: {message}"
        if "unable to open" in message:
            return "the database file cannot be opened: check that it exists"
        if "disk I/O" in message and self._limits.read_only:
            most = f"at most {self._limits.memory // 2**20} MB of temporary files are allowed"
            return f"SQLite: {message}; if this query sorts or groups much data, ask for less: {most}"
        return f"SQLite: {message}"
