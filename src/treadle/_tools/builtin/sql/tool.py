"""Queries on SQLite, DuckDB or Postgres; read-only by default, and the database itself enforces it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import object_schema
from treadle._tools.builtin.sql.process import WorkerDatabase
from treadle._tools.builtin.sql.rows import Database, Limits
from treadle._tools.builtin.sql.worker import Source
from treadle._types.errors import ConfigError

_START_SECONDS = 20.0
"""For the start of the process, on a busy machine."""
_SUFFIXES = {".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".duckdb": "duckdb"}


@bounded
def sql(
    url: str | os.PathLike[str],
    *,
    read_only: bool = True,
    max_rows: Count = 100,
    timeout: Seconds = 10.0,
    memory: Count = 1024 * 1024 * 1024,
    name: str = "sql",
    allow_folders: Sequence[str] = (),
    allow_superuser: bool = False,
) -> list[Tool]:
    """Two tools, `{name}_query` and `{name}_schema`, over one database.

    `url` is `sqlite:///path`, `duckdb:///path`, `postgresql://...`, or a path that ends in .db, .sqlite, .sqlite3 or
    .duckdb. Queries run in a process of their own: it is killed when one takes longer than `timeout` seconds, and has
    at most `memory` bytes for a query and its result. DuckDB reads no files but its own, except below `allow_folders`.
    With Postgres a superuser is refused while read-only, because a read-only transaction does not restrict what
    functions for superusers may do.
    """
    limits = Limits(max_rows, timeout, read_only, memory)
    database: Database = WorkerDatabase(_source(str(url), limits, allow_folders, allow_superuser))
    kind = f"{database.dialect}, read-only" if read_only else f"{database.dialect}, may change data"
    query = {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 20_000,
            "description": f"One {database.dialect} statement",
        }
    }
    table = {
        "table": {"type": "string", "default": "", "maxLength": 200, "description": "One table only; empty for all"}
    }
    return [
        Tool(
            name=f"{name}_query",
            description=(
                f"Run one SQL statement ({kind}) and return its rows, at most {max_rows}. Look at {name}_schema first."
            ),
            parameters=object_schema(query, ("query",)),
            execute=database.query,
            timeout=timeout + _START_SECONDS,
            effect="pure" if read_only else "unsafe",
            untrusted="the database",
            concurrent=read_only,
        ),
        Tool(
            name=f"{name}_schema",
            description=f"List the tables of the database ({database.dialect}) with their columns and types.",
            parameters=object_schema(table),
            execute=database.schema,
            timeout=timeout + _START_SECONDS,
            effect="pure",
        ),
    ]


def _source(url: str, limits: Limits, allow_folders: Sequence[str], allow_superuser: bool) -> Source:
    parts = urlsplit(url)
    if parts.scheme in ("postgresql", "postgres"):
        return Source("postgres", url, limits, allow_superuser=allow_superuser)
    kind, path = parts.scheme, unquote(url.partition("://")[2]).removeprefix("/")
    if kind not in ("sqlite", "duckdb") or "://" not in url:
        kind, path = _SUFFIXES.get(os.path.splitext(url)[1].lower(), ""), url
    if kind == "sqlite":
        return Source("sqlite", os.path.abspath(path), limits)
    if kind == "duckdb":
        location = ":memory:" if path in ("", ":memory:") else os.path.abspath(path)
        return Source("duckdb", location, limits, tuple(allow_folders))
    raise ConfigError(
        # Without the url: it may contain a password.
        "sql: the url names no supported database; expected sqlite:///path, duckdb:///path, postgresql://..., "
        f"or a path that ends in {', '.join(_SUFFIXES)}"
    )
