"""Store which run answers which client request, so that a repeated request finds its run after a restart.

The key of a note is made by the server from the request.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from treadle._journal.catalog.values import RequestNote

if TYPE_CHECKING:
    import sqlite3
    from contextlib import AbstractAsyncContextManager

SQLITE = (
    """CREATE TABLE requests(
        key TEXT NOT NULL, run TEXT NOT NULL, content TEXT NOT NULL, time REAL NOT NULL, PRIMARY KEY(key, run)
        ) WITHOUT ROWID""",
    "CREATE INDEX requests_time ON requests(time)",
    "CREATE INDEX requests_run ON requests(run)",
)
POSTGRES = """
    CREATE TABLE {s}.requests(
        key text NOT NULL, run text NOT NULL, content text NOT NULL, time float8 NOT NULL, PRIMARY KEY(key, run));
    CREATE INDEX requests_time ON {s}.requests(time);
    CREATE INDEX requests_run ON {s}.requests(run);
    """


def stamped(note: RequestNote) -> RequestNote:
    return note if note.time else RequestNote(note.run_id, note.content, time.time())


# ---- SQLite


def noted(con: sqlite3.Connection, key: str, since: float) -> list[RequestNote]:
    """Return the notes of a key since a time, oldest first."""
    sql = "SELECT run, content, time FROM requests WHERE key = ? AND time >= ? ORDER BY time, run"
    return [RequestNote(*row) for row in con.execute(sql, (key, since))]


def note(con: sqlite3.Connection, key: str, one: RequestNote, since: float, alone: bool) -> RequestNote:
    con.execute("DELETE FROM requests WHERE time < ?", (since,))
    if alone and (earlier := noted(con, key, since)):
        return earlier[0]
    con.execute("INSERT OR REPLACE INTO requests VALUES(?, ?, ?, ?)", (key, one.run_id, one.content, one.time))
    return one


def forget(con: sqlite3.Connection, key: str, run_id: str) -> None:
    con.execute("DELETE FROM requests WHERE key = ? AND run = ?", (key, run_id))


# ---- Postgres


class Connection(Protocol):
    async def execute(self, query: str, *args: object) -> str: ...
    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    def transaction(self) -> AbstractAsyncContextManager[object]: ...


class Requests:
    """The same operations for Postgres, in the tables of one database schema."""

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def _sql(self, text: str) -> str:
        return text.replace("{s}", f'"{self._schema}"')

    async def noted(self, con: Connection, key: str, since: float) -> list[RequestNote]:
        sql = "SELECT run, content, time FROM {s}.requests WHERE key = $1 AND time >= $2 ORDER BY time, run"
        return [RequestNote(*row) for row in await con.fetch(self._sql(sql), key, since)]

    async def note(self, con: Connection, key: str, one: RequestNote, since: float, alone: bool) -> RequestNote:
        async with con.transaction():
            # Two servers that get one request at once must find the same run.
            await con.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"{self._schema} {key}")
            await con.execute(self._sql("DELETE FROM {s}.requests WHERE time < $1"), since)
            if alone and (earlier := await self.noted(con, key, since)):
                return earlier[0]
            sql = "INSERT INTO {s}.requests VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING"
            await con.execute(self._sql(sql), key, one.run_id, one.content, one.time)
            return one

    async def forget(self, con: Connection, key: str, run_id: str) -> None:
        await con.execute(self._sql("DELETE FROM {s}.requests WHERE key = $1 AND run = $2"), key, run_id)


# ---- in memory


class RememberedRequests:
    def __init__(self) -> None:
        self._notes: dict[str, list[RequestNote]] = {}

    def noted(self, key: str, since: float) -> list[RequestNote]:
        return [one for one in self._notes.get(key, ()) if one.time >= since]

    def note(self, key: str, one: RequestNote, since: float, alone: bool) -> RequestNote:
        for other_key in list(self._notes):  # the oldest are first
            if len(fresh := self.noted(other_key, since)) == len(self._notes[other_key]):
                break
            self._store(other_key, fresh)
        if alone and (earlier := self.noted(key, since)):
            return earlier[0]
        others = [other for other in self._notes.get(key, ()) if other.run_id != one.run_id]
        self._notes[key] = [*others, one]
        return one

    def forget(self, key: str, run_id: str) -> None:
        self._store(key, [one for one in self._notes.get(key, ()) if one.run_id != run_id])

    def forget_runs(self, runs: Sequence[str]) -> None:
        for key, notes in list(self._notes.items()):
            self._store(key, [one for one in notes if one.run_id not in runs])

    def _store(self, key: str, notes: list[RequestNote]) -> None:
        if notes:
            self._notes[key] = notes
        else:
            self._notes.pop(key, None)
