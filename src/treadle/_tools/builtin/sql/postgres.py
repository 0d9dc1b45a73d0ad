"""Postgres: one read-only transaction and one statement per call, on a connection of its own."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from treadle._tools.builtin.sql.rows import Limits, Rows, Schema, to_rows, to_schema
from treadle._types.errors import MissingExtraError, ToolError

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_COLUMNS = """
SELECT CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END,
       CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END,
       a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
       || coalesce((SELECT string_agg(' ' || pg_get_constraintdef(k.oid), '') FROM pg_constraint k
                    WHERE k.conrelid = c.oid AND k.contype IN ('p', 'f') AND k.conkey = ARRAY[a.attnum]), '')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg_toast%'
ORDER BY n.nspname, c.relname, a.attnum LIMIT 20000
"""
_SUPERUSER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"


class Postgres:
    dialect = "Postgres"

    def __init__(self, url: str, limits: Limits, allow_superuser: bool) -> None:
        if find_spec("psycopg") is None:
            raise MissingExtraError("SQL on Postgres", "postgres")
        self._url = url
        self._limits = limits
        self._allow_superuser = allow_superuser

    def query(self, query: str) -> Rows:
        text = query.strip().rstrip(";").rstrip()
        with self._transaction() as connection:
            if self._limits.read_only:
                self._refuse_superuser(connection)
                explains = re.match(r"(explain|show)\b", text, re.I)
                return self._result(_run(connection, text) if explains else self._fetch(connection, text))
            return self._result(self._write(connection, text))

    def schema(self, table: str = "") -> Schema:
        with self._transaction() as connection:
            return to_schema(_run(connection, _COLUMNS).fetchall(), table)

    def _fetch(self, connection: Connection, text: str) -> Cursor:
        """Rows through a cursor, which exists for queries only: COPY, DO and data-changing WITH are refused."""
        _run(connection, f"DECLARE treadle_rows NO SCROLL CURSOR FOR {text}")
        return _run(connection, f"FETCH {self._limits.max_rows + 1} FROM treadle_rows")

    def _write(self, connection: Connection, text: str) -> Cursor:
        """A query through a cursor, so that only the rows needed are sent; other statements directly."""
        import psycopg

        try:
            with connection.transaction():
                return self._fetch(connection, text)
        except (psycopg.errors.SyntaxError, psycopg.errors.FeatureNotSupported):
            return _run(connection, text)

    def _result(self, cursor: Cursor) -> Rows:
        if cursor.description is None:
            return to_rows((), (), self._limits, max(cursor.rowcount, 0))
        rows: Iterable[Sequence[Any]] = cursor
        return to_rows([column.name for column in cursor.description], rows, self._limits)

    def _refuse_superuser(self, connection: Connection) -> None:
        row = None if self._allow_superuser else _run(connection, _SUPERUSER).fetchone()
        if row and row[0]:
            raise ToolError(
                "refused: the connection is a superuser's, and a read-only transaction does not restrict superusers. "
                "Use an ordinary role (CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader), or allow_superuser"
            )

    @contextmanager
    def _transaction(self) -> Generator[Connection]:
        import psycopg

        limits = self._limits
        settings = f"-c statement_timeout={int(limits.timeout * 1000)} -c idle_in_transaction_session_timeout=60000"
        try:
            with psycopg.connect(
                self._url, connect_timeout=max(int(limits.timeout), 2), options=settings
            ) as connection:
                connection.read_only = limits.read_only
                yield connection
        except psycopg.errors.QueryCanceled:
            raise ToolError(limits.too_slow) from None
        except psycopg.errors.ReadOnlySqlTransaction:
            raise ToolError("refused: this database is read-only here") from None
        except psycopg.OperationalError as error:
            # Its text may repeat the URL, which contains a password.
            raise ToolError(f"Postgres cannot be reached: {type(error).__name__}") from None
        except psycopg.Error as error:
            if error.sqlstate is None and "out of memory" in str(error):  # here, not at the server
                raise MemoryError from None
            raise ToolError(f"Postgres: {error.diag.message_primary or type(error).__name__}") from None


def _run(connection: Connection, text: str) -> Cursor:
    """As a prepared statement, which can be only one: a second one could end the transaction and start another."""
    return connection.execute(text.encode(), prepare=True)
