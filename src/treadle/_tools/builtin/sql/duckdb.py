"""DuckDB: opened read-only, without files, extensions and Python variables, interrupted when the time is up."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from treadle._tools.builtin.sql.rows import Limits, Rows, Schema, to_rows, to_schema
from treadle._types.errors import MissingExtraError, ToolError

if TYPE_CHECKING:
    import duckdb

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,  # otherwise a table name may read a variable of this process
    "temp_directory": "",
}


class DuckDb:
    dialect = "DuckDB"

    def __init__(self, path: str, limits: Limits, allow_folders: Sequence[str]) -> None:
        if find_spec("duckdb") is None:
            raise MissingExtraError("SQL on DuckDB", "duckdb")
        self._path = path
        self._limits = limits
        self._folders = list(allow_folders)

    def query(self, query: str) -> Rows:
        import duckdb

        with self._connected() as connection:
            statements = connection.extract_statements(query)
            if len(statements) != 1:
                raise ToolError(f"the query has {len(statements)} statements: send exactly one")
            if self._limits.read_only and statements[0].type != duckdb.StatementType.SELECT:
                raise ToolError(
                    "refused: this database is read-only here; only SELECT, DESCRIBE, SHOW and SUMMARIZE are allowed"
                )
            cursor = connection.execute(statements[0])
            rows = iter(cursor.fetchone, None)
            return to_rows([entry[0] for entry in cursor.description or ()], rows, self._limits)

    def schema(self, table: str = "") -> Schema:
        listing = (
            "SELECT c.table_name, CASE WHEN t.table_type = 'VIEW' THEN 'view' ELSE 'table' END, "
            "c.column_name || ' ' || c.data_type || CASE WHEN c.is_nullable = 'NO' THEN ' NOT NULL' ELSE '' END "
            "FROM information_schema.columns c JOIN information_schema.tables t "
            "USING (table_catalog, table_schema, table_name) "
            "WHERE c.table_schema NOT IN ('information_schema', 'pg_catalog') "
            "ORDER BY c.table_name, c.ordinal_position LIMIT 20000"
        )
        with self._connected() as connection:
            return to_schema(connection.execute(listing).fetchall(), table)

    @contextmanager
    def _connected(self) -> Generator[duckdb.DuckDBPyConnection]:
        import duckdb

        read_only = self._limits.read_only and self._path != ":memory:"
        config = {
            **_CONFIG,
            "memory_limit": f"{self._limits.memory * 3 // 4 // 2**20}MiB",
            "threads": min(os.cpu_count() or 1, 4),  # each takes memory of its own
        }
        timer: threading.Timer | None = None
        try:
            with duckdb.connect(self._path, read_only=read_only, config=config) as connection:
                connection.execute("SET allowed_directories = ?", [self._folders])
                connection.execute("SET enable_external_access = false")
                connection.execute("SET lock_configuration = true")
                timer = threading.Timer(self._limits.timeout, connection.interrupt)
                timer.daemon = True
                timer.start()
                yield connection
        except duckdb.InterruptException:
            raise ToolError(self._limits.too_slow) from None
        except duckdb.Error as error:
            raise ToolError(f"DuckDB: {str(error)[:500]}") from None
        finally:
            if timer is not None:
                timer.cancel()
