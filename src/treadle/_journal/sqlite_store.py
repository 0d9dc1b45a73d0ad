"""The tables of the SQLite journal, and each operation on them as one function of a connection.

These functions run inside a transaction that `writer.py` opens and commits; none of them waits or uses asyncio.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from treadle._journal.base import InboxItem, RunInfo
from treadle._journal.catalog.tables import REQUESTS, SPENDING, SUMMARIES, TABLES, TITLES, for_sqlite
from treadle._journal.process import ProcessIdentity, is_alive
from treadle._journal.rows import (
    Row,
    from_rows,
    initial_info,
    not_found,
    refuse_if_fenced,
    refuse_unless_next,
    status_after,
)
from treadle._journal.texts import read_text, storable
from treadle._types.errors import CorruptLogError, JournalError, RunBusyError
from treadle._types.events import Record

APPLICATION_ID = 0x54524C4A  # "TRLJ": databases of other programs are refused

SEQ_BITS = 24
MAX_SEQ = (1 << SEQ_BITS) - 1

# `PRAGMA user_version` is the number of migrations a file has had. Never change one that was released: add one.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # (run, seq) as one integer, made of the run's number and the record's: there is one tree, so an append writes
        # one page and not one of a row and one of an index. CPU per append, with 1 / 20 / 100 runs at once: 29 / 39 /
        # 36 us; with PRIMARY KEY(run, seq) 42 / 41 / 42; with that WITHOUT ROWID 53 / - / 45. The records of a run are
        # adjacent, so a run is quick to load and to delete.
        """CREATE TABLE records(
            key INTEGER PRIMARY KEY, time REAL NOT NULL, schema INTEGER NOT NULL, sum INTEGER NOT NULL,
            data TEXT NOT NULL)""",
        # AUTOINCREMENT: the number of a deleted run is not used again, so a driver that missed the deletion cannot
        # write into another run.
        """CREATE TABLE runs(
            n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, parent TEXT NOT NULL, agent TEXT NOT NULL,
            model TEXT NOT NULL, question TEXT NOT NULL, conversation TEXT NOT NULL, user TEXT NOT NULL,
            status TEXT NOT NULL, stop_reason TEXT NOT NULL, created REAL NOT NULL)""",
        "CREATE INDEX runs_created ON runs(created)",
        "CREATE INDEX runs_parent ON runs(parent) WHERE parent <> ''",
        "CREATE INDEX runs_conversation ON runs(conversation, created) WHERE conversation <> ''",
        """CREATE TABLE inbox(
            n INTEGER PRIMARY KEY, run TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, payload BLOB NOT NULL,
            taken INTEGER NOT NULL DEFAULT 0, UNIQUE(run, id))""",
        """CREATE TABLE claims(
            run TEXT PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
            started TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID""",
        # For people who look at the file with a SQLite shell.
        f"""CREATE VIEW log AS SELECT run, key & {MAX_SEQ} AS seq, datetime(time, 'unixepoch') AS at, parent,
            json_extract(data, '$.type') AS type, data FROM records JOIN runs ON n = key >> {SEQ_BITS}""",
    ),
    for_sqlite(SUMMARIES),
    (
        # Contents of files, each once, and which runs have it.
        "CREATE TABLE contents(hash TEXT PRIMARY KEY, data BLOB NOT NULL)",
        "CREATE TABLE uses(n INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY(n, hash)) WITHOUT ROWID",
        "CREATE INDEX uses_hash ON uses(hash)",
    ),
    for_sqlite(TITLES),
    for_sqlite(REQUESTS),
    for_sqlite(SPENDING),
)

_CLAIM_AND_PREVIOUS = """SELECT ifnull(epoch, 0), ifnull(owner, ''), EXISTS (SELECT 1 FROM records WHERE key = ?)
    FROM (SELECT 1) LEFT JOIN claims ON claims.run = ?"""
_INSERT = "INSERT INTO records VALUES(?, ?, ?, ?, CAST(? AS TEXT))"
_LAST_KEY = f"SELECT max(key) FROM records WHERE key BETWEEN n << {SEQ_BITS} AND n << {SEQ_BITS} | {MAX_SEQ}"
KEYS = f"r.n << {SEQ_BITS} AND r.n << {SEQ_BITS} | {MAX_SEQ}"
UPDATED = f"ifnull((SELECT time FROM records WHERE key = ({_LAST_KEY})), created)"
RECORDS = f"ifnull(({_LAST_KEY}) & {MAX_SEQ}, -1) + 1"
_TREE = """WITH RECURSIVE tree(run) AS (
    SELECT ? UNION SELECT runs.run FROM runs JOIN tree ON runs.parent = tree.run AND runs.parent <> '') """


def connect(
    path: Path, *, timeout: float = 0.0, read_only: bool = False, immutable: bool = False
) -> sqlite3.Connection:
    mode = "ro" if read_only else "rwc"
    return connected(f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if immutable else ''}", timeout)


def connected(uri: str, timeout: float = 0.0) -> sqlite3.Connection:
    con = sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    con.text_factory = read_text
    con.execute("PRAGMA trusted_schema = OFF")
    return con


_execute, _executemany = sqlite3.Connection.execute, sqlite3.Connection.executemany


class _Connection(sqlite3.Connection):
    """Stores and finds texts that cannot be encoded, too; others go the short way."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        try:
            return _execute(self, sql, parameters)
        except UnicodeEncodeError:
            return _execute(self, sql, _storable(parameters))
        except UnicodeDecodeError:  # SQLite's own message about a damaged schema quotes it
            error = sqlite3.DatabaseError("its schema is damaged")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error from None

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        rows: list[Any] = list(parameters)
        try:
            return _executemany(self, sql, rows)
        except UnicodeEncodeError:
            return _executemany(self, sql, [_storable(row) for row in rows])


def _storable(parameters: Any) -> Any:
    values = cast("Mapping[str, Any]", parameters)
    if isinstance(parameters, Mapping):
        return {name: storable(value) if isinstance(value, str) else value for name, value in values.items()}
    return [storable(value) if isinstance(value, str) else value for value in parameters]


def prepare(con: sqlite3.Connection, synchronous: str) -> None:
    """Settings of the writing connection, and the migrations that the file has not had."""
    _check(con)
    # Most records are small and each commit writes whole pages: 2 to 15 % cheaper than 4096.
    con.execute("PRAGMA page_size = 2048")
    con.execute("PRAGMA auto_vacuum = INCREMENTAL")
    con.execute("PRAGMA journal_mode = WAL")
    con.execute(f"PRAGMA synchronous = {synchronous}")
    # The thread of the writer makes checkpoints: the event loop must not wait for fsync.
    con.execute("PRAGMA wal_autocheckpoint = 0")
    con.execute("BEGIN IMMEDIATE")
    try:
        version = _version(con)
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                con.execute(statement)
        con.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        con.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        con.execute("COMMIT")
    except BaseException:
        con.rollback()
        raise


def _check(con: sqlite3.Connection) -> None:
    """Refuse a file that is not a journal, before anything in it is changed."""
    con.execute("BEGIN")  # one snapshot: another process may be creating the tables
    try:
        _version(con)
        refuse_foreign_code(con)
    finally:
        con.rollback()


def refuse_foreign_code(con: sqlite3.Connection) -> None:
    """Refuse triggers and views that we did not make: a file from somebody else would have them run here. The view
    `log` is for people, and never read."""
    code = con.execute(
        "SELECT type, name FROM sqlite_master WHERE type = 'trigger' OR (type = 'view' AND name <> 'log')"
    ).fetchone()
    if code is not None:
        raise JournalError(f"has the {code[0]} {code[1][:80]!r}, which no journal has: it was changed by somebody else")


def _version(con: sqlite3.Connection) -> int:
    """The number of migrations the file has had. Refuses databases of other programs and of newer versions."""
    (application,) = con.execute("PRAGMA application_id").fetchone()
    (version,) = con.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID and con.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise JournalError("is a database of another program: give the journal another path")
    if version > len(MIGRATIONS):
        raise JournalError(
            f"was written by a newer Treadle (version {version}, this one reads up to {len(MIGRATIONS)}): "
            "upgrade Treadle"
        )
    return version


def explain(error: sqlite3.Error, path: Path) -> JournalError:
    """The error with what to do about it. A failed write never changes earlier records."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    advice = {
        sqlite3.SQLITE_FULL: "the disk is full; free some space, then resume the run (all earlier records are intact)",
        sqlite3.SQLITE_READONLY: "it cannot be written; check the permissions of the file and its folder, or open it "
        "with read_only=True",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and may be written",
        sqlite3.SQLITE_BUSY: "another process has kept it locked for too long; end that process, then resume the run",
        sqlite3.SQLITE_LOCKED: "another process has kept it locked for too long; end that process, then resume the run",
        sqlite3.SQLITE_IOERR: "the disk failed; check it, then resume the run",
        sqlite3.SQLITE_PERM: "it may not be opened; check the file's permissions",
    }
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptLogError(
            f"journal {path}: {error}: the file is damaged; load(..., salvage=True) returns what can be read of a run, "
            f"`sqlite3 {path} .recover` recovers the rest; then move the file away"
        )
    return JournalError(f"journal {path}: {advice.get(code, 'the database reported an error')} ({error})")


# Records and runs


def append(
    con: sqlite3.Connection,
    records: Sequence[Record],
    rows: Sequence[Row],
    number: int | None,
    epoch: int,
    recorded: Sequence[str],
) -> int:
    """Store `rows`, the run's new status, and that its inbox items `recorded` are done. Returns the run's number."""
    run, first = rows[0].run, rows[0].seq
    if rows[-1].seq > MAX_SEQ:
        raise JournalError(f"run {run} has reached the limit of {MAX_SEQ + 1} records for one run")
    if number is None:
        number = _number(con, run)
    before = ((number or 0) << SEQ_BITS) + first - 1
    holder_epoch, holder, has_previous = con.execute(_CLAIM_AND_PREVIOUS, (before, run)).fetchone()
    refuse_if_fenced(run, epoch, holder_epoch, holder)
    if number is None:
        refuse_unless_next(run, first, -1)
        number = _insert_info(con, initial_info(records[0]))
    elif not has_previous:
        refuse_unless_next(run, first, _last(con, number))
    base = number << SEQ_BITS
    try:
        con.executemany(_INSERT, [(base + row.seq, row.time, row.schema, row.sum, row.data) for row in rows])
    except sqlite3.IntegrityError:
        refuse_unless_next(run, first, _last(con, number))
        raise
    for row in rows:
        for key, content in row.contents.items():
            con.execute("INSERT OR IGNORE INTO contents VALUES(?, ?)", (key, content))
            con.execute("INSERT OR IGNORE INTO uses VALUES(?, ?)", (number, key))
    for record in records:
        if status := status_after(record.event):
            con.execute("UPDATE runs SET status = ?, stop_reason = ? WHERE n = ?", (*status, number))
    if recorded:
        con.executemany("DELETE FROM inbox WHERE run = ? AND id = ?", [(run, item) for item in recorded])
    return number


def _number(con: sqlite3.Connection, run_id: str) -> int | None:
    row = con.execute("SELECT n FROM runs WHERE run = ?", (run_id,)).fetchone()
    return row and row[0]


def _last(con: sqlite3.Connection, number: int) -> int:
    (key,) = con.execute(f"SELECT ({_LAST_KEY}) FROM (SELECT ? AS n)", (number,)).fetchone()
    return -1 if key is None else key & MAX_SEQ


def _insert_info(con: sqlite3.Connection, info: RunInfo) -> int:
    columns = "run, parent, agent, model, question, conversation, user, status, stop_reason, created"
    values = (
        info.run_id,
        info.parent,
        info.agent,
        info.model,
        info.question,
        info.conversation,
        info.user,
        info.status,
        "",
        info.created,
    )
    number = con.execute(f"INSERT INTO runs({columns}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values).lastrowid
    if number is None:
        raise JournalError("SQLite returned no number for the run")
    return number


def load(con: sqlite3.Connection, run_id: str, after: int, salvage: bool, path: Path) -> list[Record]:
    row = con.execute("SELECT n, parent FROM runs WHERE run = ?", (run_id,)).fetchone()
    if row is None:
        raise not_found(run_id)
    return _load(con, run_id, row[0], row[1], after, salvage, path)


def _load(
    con: sqlite3.Connection, run_id: str, number: int, parent: str, after: int, salvage: bool, path: Path
) -> list[Record]:
    with closing(_rows(con, number, parent, after, path)) as rows:  # an open query would keep old pages in the WAL file
        return from_rows(run_id, rows, after, salvage, lambda key: _content(con, key, path))


def _content(con: sqlite3.Connection, key: str, path: Path) -> bytes | None:
    try:
        row = con.execute("SELECT data FROM contents WHERE hash = ?", (key,)).fetchone()
    except sqlite3.DatabaseError as error:
        raise explain(error, path) from error
    return row and row[0]


def salvaged(path: Path) -> Generator[tuple[str, list[Record], str]]:
    """Read a file past its damage: each run that can be found by its number, what is intact of it, and what is wrong
    with the rest."""
    with closing(connect(path, read_only=True)) as con:
        con.execute("PRAGMA writable_schema = ON")  # a file that was cut off is read, too; nothing is written
        try:
            _check(con)
            last = _last_number(con)
        except sqlite3.DatabaseError as error:
            raise explain(error, path) from error
        for number in range(1, last + 1):
            run, parent = "", ""
            with suppress(sqlite3.DatabaseError):
                row = con.execute("SELECT run, parent FROM runs WHERE n = ?", (number,)).fetchone()
                if row is None:
                    continue
                run, parent = row
            name = run or f"run-{number}"  # where its own cannot be read
            try:
                records, why = _load(con, name, number, parent, -1, False, path), ""
            except CorruptLogError as error:
                records, why = _load(con, name, number, parent, -1, True, path), str(error)
            yield name, records, why or ("" if records else "none of its records is there")


def _rows(
    con: sqlite3.Connection, number: int, parent: str, after: int, path: Path
) -> Generator[tuple[int, float, str, int, bytes, int]]:
    base = number << SEQ_BITS
    sql = "SELECT key - ?, time, ?, schema, CAST(data AS BLOB), sum FROM records WHERE key BETWEEN ? AND ? ORDER BY key"
    try:
        yield from con.execute(sql, (base, parent, base + after + 1, base + MAX_SEQ))
    except sqlite3.DatabaseError as error:
        raise explain(error, path) from error


def _last_number(con: sqlite3.Connection) -> int:
    """The highest number of a run, from whichever table has it whole."""
    sequence = "SELECT seq FROM sqlite_sequence WHERE name = 'runs'"
    for sql in (sequence, "SELECT max(n) FROM runs"):
        with suppress(sqlite3.DatabaseError):
            row = con.execute(sql).fetchone()
            return (row and row[0]) or 0
    return con.execute(f"SELECT max(key) >> {SEQ_BITS} FROM records").fetchone()[0] or 0


def delete(con: sqlite3.Connection, run_id: str) -> None:
    tree = [run for (run,) in con.execute(f"{_TREE} SELECT run FROM tree", (run_id,))]
    for run in tree:
        if driver := _live_driver(con, run):
            raise RunBusyError(f"run {run} is being driven by {driver}: cancel it first")
    if _number(con, run_id) is None:
        raise not_found(run_id)
    for run in tree:
        number = _number(con, run) or 0
        base = number << SEQ_BITS
        con.execute("DELETE FROM records WHERE key BETWEEN ? AND ?", (base, base + MAX_SEQ))
        _forget_contents(con, number)
        for table in ("runs", "inbox", "claims", *TABLES):
            con.execute(f"DELETE FROM {table} WHERE run = ?", (run,))


def _forget_contents(con: sqlite3.Connection, number: int) -> None:
    """Delete the contents that only this run has."""
    used = con.execute("SELECT hash FROM uses WHERE n = ?", (number,)).fetchall()
    con.execute("DELETE FROM uses WHERE n = ?", (number,))
    con.executemany(
        "DELETE FROM contents WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM uses WHERE uses.hash = ?1)", used
    )


def shrink(con: sqlite3.Connection, pages: int = 2000) -> bool:
    """Return free pages to the disk; whether there are more."""
    (free,) = con.execute("PRAGMA freelist_count").fetchone()
    for _ in range(min(free, pages)):
        con.execute(
            "PRAGMA incremental_vacuum(1)"
        )  # whatever the number, Python's driver makes one step, which is one page
    return free > pages


# Claims


def claim(con: sqlite3.Connection, run_id: str, owner: str, process: ProcessIdentity, lease: float) -> int:
    driver = _live_driver(con, run_id)
    if driver and driver != owner:
        raise RunBusyError(f"run {run_id} is being driven by {driver}")
    con.execute(
        """INSERT INTO claims VALUES(?, 1, ?, ?, ?, ?, ?) ON CONFLICT(run) DO UPDATE SET
            epoch = epoch + 1, owner = excluded.owner, host = excluded.host, pid = excluded.pid,
            started = excluded.started, until = excluded.until""",
        (run_id, owner, process.host, process.pid, process.started, time.time() + lease),
    )
    con.execute("UPDATE inbox SET taken = 0 WHERE run = ? AND taken", (run_id,))
    (epoch,) = con.execute("SELECT epoch FROM claims WHERE run = ?", (run_id,)).fetchone()
    return epoch


def _live_driver(con: sqlite3.Connection, run_id: str) -> str:
    row = con.execute(
        "SELECT owner, host, pid, started, until FROM claims WHERE run = ? AND owner <> ''", (run_id,)
    ).fetchone()
    return row[0] if row is not None and _drives(*row[1:]) else ""


def _drives(host: str, pid: int, started: str, until: float) -> bool:
    alive = is_alive(ProcessIdentity(host, pid, started))
    return time.time() < until if alive is None else alive


def driven_runs(con: sqlite3.Connection) -> list[str]:
    """Return the runs that have a driver now."""
    held = con.execute("SELECT run, host, pid, started, until FROM claims WHERE owner <> ''").fetchall()
    return [run for run, *holder in held if _drives(*holder)]


def is_driven(con: sqlite3.Connection, run_id: str) -> bool:
    return bool(_live_driver(con, run_id))


def release(con: sqlite3.Connection, run_id: str, owner: str) -> None:
    # The row stays, because the epoch of the next driver must be higher than all before it.
    con.execute("UPDATE claims SET owner = '' WHERE run = ? AND owner = ?", (run_id, owner))


def release_all(con: sqlite3.Connection, epochs: Sequence[tuple[str, int]]) -> None:
    con.executemany("UPDATE claims SET owner = '' WHERE run = ? AND epoch = ?", epochs)


def renew_claims(con: sqlite3.Connection, epochs: Sequence[tuple[str, int]], lease: float) -> None:
    until = time.time() + lease
    con.executemany(
        "UPDATE claims SET until = ? WHERE run = ? AND epoch = ?", [(until, run, epoch) for run, epoch in epochs]
    )


# Inbox


def put(con: sqlite3.Connection, item: InboxItem) -> None:
    payload = msgspec.json.encode(item.payload)
    con.execute(
        "INSERT OR IGNORE INTO inbox(run, id, kind, payload) VALUES(?, ?, ?, ?)",
        (item.run_id, item.id, item.kind, payload),
    )


def waiting(con: sqlite3.Connection, run_id: str, kinds: Sequence[str]) -> list[tuple[int, InboxItem]]:
    rows = con.execute(
        "SELECT n, id, kind, payload FROM inbox WHERE run = ? AND NOT taken ORDER BY n", (run_id,)
    ).fetchall()
    return [
        (n, InboxItem(id, run_id, kind, msgspec.json.decode(payload, type=dict[str, object])))
        for n, id, kind, payload in rows
        if not kinds or kind in kinds
    ]


def take(con: sqlite3.Connection, run_id: str, kinds: Sequence[str]) -> list[InboxItem]:
    items = waiting(con, run_id, kinds)
    con.executemany("UPDATE inbox SET taken = 1 WHERE n = ?", [(n,) for n, _ in items])
    return [item for _, item in items]


def recall(con: sqlite3.Connection, run_id: str, item_id: str) -> bool:
    return con.execute("DELETE FROM inbox WHERE run = ? AND id = ? AND NOT taken", (run_id, item_id)).rowcount > 0
