"""The kinds of databases; each module is imported when its kind is used."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from treadle._tools.builtin.sql.rows import Database, Limits

Kind = Literal["sqlite", "duckdb", "postgres"]


class Source(Struct, frozen=True):
    """Which database, and how it may be used."""

    kind: Kind
    location: str
    """The path of a file, or the url of a server."""
    limits: Limits
    allow_folders: tuple[str, ...] = ()
    allow_superuser: bool = False


def open_database(source: Source) -> Database:
    if source.kind == "sqlite":
        from treadle._tools.builtin.sql.sqlite import Sqlite

        return Sqlite(source.location, source.limits)
    if source.kind == "duckdb":
        from treadle._tools.builtin.sql.duckdb import DuckDb

        return DuckDb(source.location, source.limits, source.allow_folders)
    from treadle._tools.builtin.sql.postgres import Postgres

    return Postgres(source.location, source.limits, source.allow_superuser)
