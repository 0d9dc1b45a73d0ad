"""The SQLite journal's tables, and each thing that is done to them as one function of a connection.

These functions run inside a transaction that `writer.py` opens and commits; none of them waits or knows of asyncio.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from treadle._journal.base import InboxItem, RunInfo
from treadle._journal.process import ProcessMark, is_alive
from treadle._journal.rows import (
    Row,
    first_info,
    from_rows,
    not_found,
    refuse_if_fenced,
    refuse_unless_next,
    status_after,
)
from treadle._types.errors import CorruptLogError, JournalError, RunBusyError
from treadle._types.events import Record

APPLICATION_ID = 0x54524C4A  # "TRLJ": another program's database is never touched

SEQ_BITS = 24
MAX_SEQ = (1 << SEQ_BITS) - 1

# `PRAGMA user_version` counts the migrations a file has seen. Never change one that was released: add one.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # (run, seq) as one integer, the run's number and the record's: one tree, so an append writes one page of it instead of a
        # row's and an index's. Measured per append, CPU with 1 / 20 / 100 runs at once: 29 / 39 / 36 us; with PRIMARY KEY(run, seq)
        # 42 / 41 / 42; with that WITHOUT ROWID 53 / - / 45. And a run lies in one piece: quick to load and to delete.
        """CREATE TABLE records(
            key INTEGER PRIMARY KEY, time REAL NOT NULL, schema INTEGER NOT NULL, sum INTEGER NOT NULL, data TEXT NOT NULL)""",
        # AUTOINCREMENT: the number of a deleted run never comes back, so a driver that missed the deletion cannot write into another run.
        """CREATE TABLE runs(
            n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, parent TEXT NOT NULL, agent TEXT NOT NULL,
            model TEXT NOT NULL, question TEXT NOT NULL, conversation TEXT NOT NULL, user TEXT NOT NULL, status TEXT NOT NULL,
            stop_reason TEXT NOT NULL, created REAL NOT NULL)""",
        "CREATE INDEX runs_created ON runs(created)",
        "CREATE INDEX runs_parent ON runs(parent) WHERE parent <> ''",
        "CREATE INDEX runs_conversation ON runs(conversation, created) WHERE conversation <> ''",
        """CREATE TABLE inbox(
            n INTEGER PRIMARY KEY, run TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, payload BLOB NOT NULL,
            taken INTEGER NOT NULL DEFAULT 0, UNIQUE(run, id))""",
        """CREATE TABLE claims(
            run TEXT PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
            started TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID""",
        # For people with a SQLite shell.
        f"""CREATE VIEW log AS SELECT run, key & {MAX_SEQ} AS seq, datetime(time, 'unixepoch') AS at, parent,
            json_extract(data, '$.type') AS type, data FROM records JOIN runs ON n = key >> {SEQ_BITS}""",
    ),
)

_CLAIM_AND_PREVIOUS = """SELECT ifnull(epoch, 0), ifnull(owner, ''), EXISTS (SELECT 1 FROM records WHERE key = ?)
    FROM (SELECT 1) LEFT JOIN claims ON claims.run = ?"""
_INSERT = "INSERT INTO records VALUES(?, ?, ?, ?, CAST(? AS TEXT))"
_LAST_KEY = f"SELECT max(key) FROM records WHERE key BETWEEN n << {SEQ_BITS} AND n << {SEQ_BITS} | {MAX_SEQ}"
_INFO = f"""SELECT run, parent, agent, model, question, conversation, user, status, stop_reason, created,
    ifnull((SELECT time FROM records WHERE key = ({_LAST_KEY})), created) AS updated,
    ifnull(({_LAST_KEY}) & {MAX_SEQ}, -1) + 1 FROM runs"""
_TREE = """WITH RECURSIVE tree(run) AS (
    SELECT ? UNION SELECT runs.run FROM runs JOIN tree ON runs.parent = tree.run AND runs.parent <> '') """


def connect(
    path: Path, *, timeout: float = 0.0, read_only: bool = False, immutable: bool = False
) -> sqlite3.Connection:
    mode = "ro" if read_only else "rwc"
    uri = f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if immutable else ''}"
    return sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def prepare(con: sqlite3.Connection, synchronous: str) -> None:
    """Settings of the writing connection, and whatever migrations the file has not seen."""
    _refuse_strangers(con)
    con.execute(
        "PRAGMA page_size = 2048"
    )  # most records are small and each commit writes whole pages: 2 to 15 % cheaper than 4096
    con.execute("PRAGMA auto_vacuum = INCREMENTAL")
    con.execute("PRAGMA journal_mode = WAL")
    con.execute(f"PRAGMA synchronous = {synchronous}")
    con.execute(
        "PRAGMA wal_autocheckpoint = 0"
    )  # the writer's thread does it: an fsync must not fall on the event loop
    con.execute("BEGIN IMMEDIATE")
    try:
        version = _refuse_strangers(con)
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                con.execute(statement)
        con.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        con.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        con.execute("COMMIT")
    except BaseException:
        con.rollback()
        raise


def _refuse_strangers(con: sqlite3.Connection) -> int:
    (application,) = con.execute("PRAGMA application_id").fetchone()
    (version,) = con.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID and con.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise JournalError("is a database of another program: give the journal a file of its own")
    if version > len(MIGRATIONS):
        raise JournalError(
            f"was written by a newer Treadle (version {version}, this one knows {len(MIGRATIONS)}): upgrade Treadle"
        )
    return version


def explain(error: sqlite3.Error, path: Path) -> JournalError:
    """What went wrong in words that say what to do. Earlier records are never touched by a failed write."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    advice = {
        sqlite3.SQLITE_FULL: "there is no room left on the disk; free some, then resume the run (all earlier records are intact)",
        sqlite3.SQLITE_READONLY: "it cannot be written; check the file's and folder's permissions (read_only=True reads it as it is)",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and may be written",
        sqlite3.SQLITE_BUSY: "another process has kept it locked for too long; close that one, then resume the run",
        sqlite3.SQLITE_LOCKED: "another process has kept it locked for too long; close that one, then resume the run",
        sqlite3.SQLITE_IOERR: "the disk failed; check it, then resume the run",
        sqlite3.SQLITE_PERM: "it may not be opened; check the file's permissions",
    }
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return CorruptLogError(
            f"journal {path}: {error}: the file is damaged; load(..., salvage=True) gives what can be read of a run, "
            f"`sqlite3 {path} .recover` rescues the rest; then move the file away"
        )
    return JournalError(f"journal {path}: {advice.get(code, 'the database refused')} ({error})")


# Records and runs


def append(
    con: sqlite3.Connection,
    records: Sequence[Record],
    rows: Sequence[Row],
    number: int | None,
    epoch: int,
    settled: Sequence[str],
) -> int:
    """Store `rows` and what follows from them. Takes the run's number if it is known, and returns it."""
    run, first = rows[0].run, rows[0].seq
    if rows[-1].seq > MAX_SEQ:
        raise JournalError(f"run {run} is full: a log holds {MAX_SEQ + 1} records")
    if number is None:
        number = _number(con, run)
    before = ((number or 0) << SEQ_BITS) + first - 1
    holder_epoch, holder, has_previous = con.execute(_CLAIM_AND_PREVIOUS, (before, run)).fetchone()
    refuse_if_fenced(run, epoch, holder_epoch, holder)
    if number is None:
        refuse_unless_next(run, first, -1)
        number = _insert_info(con, first_info(records[0]))
    elif not has_previous:
        refuse_unless_next(run, first, _last(con, number))
    base = number << SEQ_BITS
    try:
        con.executemany(_INSERT, [(base + row.seq, row.time, row.schema, row.sum, row.data) for row in rows])
    except sqlite3.IntegrityError:
        refuse_unless_next(run, first, _last(con, number))
        raise
    for record in records:
        if status := status_after(record.event):
            con.execute("UPDATE runs SET status = ?, stop_reason = ? WHERE n = ?", (*status, number))
    if settled:
        con.executemany("DELETE FROM inbox WHERE run = ? AND id = ?", [(run, item) for item in settled])
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
        raise JournalError("SQLite gave the run no number")
    return number


def load(con: sqlite3.Connection, run_id: str, after: int, salvage: bool, path: Path) -> list[Record]:
    row = con.execute("SELECT n, parent FROM runs WHERE run = ?", (run_id,)).fetchone()
    if row is None:
        raise not_found(run_id)
    with closing(_rows(con, row[0], row[1], after, path)) as rows:  # a query left open would hold old pages for ever
        return from_rows(run_id, rows, after, salvage)


def _rows(
    con: sqlite3.Connection, number: int, parent: str, after: int, path: Path
) -> Generator[tuple[int, float, str, int, bytes, int]]:
    base = number << SEQ_BITS
    sql = "SELECT key - ?, time, ?, schema, CAST(data AS BLOB), sum FROM records WHERE key BETWEEN ? AND ? ORDER BY key"
    try:
        yield from con.execute(sql, (base, parent, base + after + 1, base + MAX_SEQ))
    except sqlite3.DatabaseError as error:
        raise explain(error, path) from error


def infos(
    con: sqlite3.Connection, limit: int, status: str, conversation: str, parent: str | None, user: str
) -> list[RunInfo]:
    wanted = {"status": status or None, "conversation": conversation or None, "parent": parent, "user": user or None}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{name} = :{name}" for name in given) or "1"
    rows = con.execute(f"{_INFO} WHERE {where} ORDER BY created DESC, n DESC LIMIT :limit", {**given, "limit": limit})
    return [RunInfo(*row) for row in rows]


def expired(con: sqlite3.Connection, before: float, keep: int, statuses: Sequence[str]) -> list[str]:
    marks = ", ".join("?" * len(statuses))
    rows = con.execute(
        f"SELECT run FROM ({_INFO} WHERE parent = '' AND status IN ({marks}) ORDER BY created DESC, n DESC LIMIT -1 OFFSET ?)"
        " WHERE updated < ?",
        (*statuses, keep, before),
    )
    return [run for (run,) in rows]


def delete(con: sqlite3.Connection, run_id: str) -> None:
    tree = [run for (run,) in con.execute(f"{_TREE} SELECT run FROM tree", (run_id,))]
    for run in tree:
        if driver := _live_driver(con, run):
            raise RunBusyError(f"run {run} is being driven by {driver}: cancel it first")
    if _number(con, run_id) is None:
        raise not_found(run_id)
    for run in tree:
        base = (_number(con, run) or 0) << SEQ_BITS
        con.execute("DELETE FROM records WHERE key BETWEEN ? AND ?", (base, base + MAX_SEQ))
        for table in ("runs", "inbox", "claims"):
            con.execute(f"DELETE FROM {table} WHERE run = ?", (run,))


def shrink(con: sqlite3.Connection, pages: int = 2000) -> bool:
    """Give free pages back to the disk; whether there are more."""
    (free,) = con.execute("PRAGMA freelist_count").fetchone()
    for _ in range(min(free, pages)):
        con.execute("PRAGMA incremental_vacuum(1)")  # whatever the number, Python's driver takes one step: one page
    return free > pages


# Claims


def claim(con: sqlite3.Connection, run_id: str, owner: str, me: ProcessMark, lease: float) -> int:
    driver = _live_driver(con, run_id)
    if driver and driver != owner:
        raise RunBusyError(f"run {run_id} is being driven by {driver}")
    con.execute(
        """INSERT INTO claims VALUES(?, 1, ?, ?, ?, ?, ?) ON CONFLICT(run) DO UPDATE SET epoch = epoch + 1, owner = excluded.owner,
            host = excluded.host, pid = excluded.pid, started = excluded.started, until = excluded.until""",
        (run_id, owner, me.host, me.pid, me.started, time.time() + lease),
    )
    con.execute("UPDATE inbox SET taken = 0 WHERE run = ? AND taken", (run_id,))
    (epoch,) = con.execute("SELECT epoch FROM claims WHERE run = ?", (run_id,)).fetchone()
    return epoch


def _live_driver(con: sqlite3.Connection, run_id: str) -> str:
    row = con.execute(
        "SELECT owner, host, pid, started, until FROM claims WHERE run = ? AND owner <> ''", (run_id,)
    ).fetchone()
    if row is None:
        return ""
    owner, host, pid, started, until = row
    alive = is_alive(ProcessMark(host, pid, started))
    if alive is None:
        alive = time.time() < until
    return owner if alive else ""


def release(con: sqlite3.Connection, run_id: str, owner: str) -> None:
    # The row stays: the next driver's epoch must be higher than any before it.
    con.execute("UPDATE claims SET owner = '' WHERE run = ? AND owner = ?", (run_id, owner))


def let_go(con: sqlite3.Connection, epochs: Sequence[tuple[str, int]]) -> None:
    con.executemany("UPDATE claims SET owner = '' WHERE run = ? AND epoch = ?", epochs)


def beat(con: sqlite3.Connection, epochs: Sequence[tuple[str, int]], lease: float) -> None:
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
    found = waiting(con, run_id, kinds)
    con.executemany("UPDATE inbox SET taken = 1 WHERE n = ?", [(n,) for n, _ in found])
    return [item for _, item in found]


def recall(con: sqlite3.Connection, run_id: str, item_id: str) -> bool:
    return con.execute("DELETE FROM inbox WHERE run = ? AND id = ? AND NOT taken", (run_id, item_id)).rowcount > 0
