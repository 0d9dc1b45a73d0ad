"""Where the trees of workspaces are kept: objects by the hash of their content, and which run has which tree.

One SQLite file beside the journal, `<journal>.trees/trees.db`: thousands of small files are written and read several
times faster than as files of their own, all of a tree or nothing is stored, and processes can share it. What was stored
survives a kill of the process at any instant, like the journal's records.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle._types.errors import TreeError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (id BLOB PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS saved (
    number INTEGER PRIMARY KEY, run TEXT NOT NULL, conversation TEXT NOT NULL, tree BLOB NOT NULL, moment TEXT NOT NULL,
    time REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS saved_run ON saved (run);
CREATE INDEX IF NOT EXISTS saved_conversation ON saved (conversation);
"""


class Entry(Struct, frozen=True, array_like=True, gc=False):
    """One name of a folder."""

    name: bytes
    kind: str
    """f: a file (`ref` is the hash of its content), d: a folder (its tree), l: a link (where it leads)."""
    mode: int
    ref: bytes


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Entry])


def encoded(entries: Iterable[Entry]) -> tuple[bytes, bytes]:
    """The id and the content of a folder, whatever the order of its entries."""
    data = _encoder.encode(sorted(entries, key=lambda entry: entry.name))
    return sha256(data).digest(), data


EMPTY, _NOTHING = encoded(())
"""The tree of an empty folder."""


class Objects:
    """The objects of one store. Its methods block; they may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self.folder / "trees.db"
            path.touch(mode=0o600)
            connection = sqlite3.connect(path, timeout=30.0, check_same_thread=False, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA mmap_size = 268435456")
            connection.executescript(_SCHEMA)
            self._connection = connection
        return self._connection

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # ---- objects

    def put(self, objects: Mapping[bytes, bytes]) -> None:
        """Store objects that are not there yet, all of them or none."""
        if objects:
            with self._lock, _explained(), self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR IGNORE INTO objects VALUES (?, ?)", objects.items())

    def put_file(self, content: bytes) -> bytes:
        """Store the content of a file, and return its id."""
        id = sha256(content).digest()
        self.put({id: content})
        return id

    def get(self, id: bytes) -> bytes:
        if (data := self._one("SELECT data FROM objects WHERE id = ?", id)) is not None:
            return data
        if id == EMPTY:
            return _NOTHING
        raise TreeError(f"the object {id.hex()} is not in the store {self.folder}")

    def entries(self, tree: bytes) -> list[Entry]:
        """Return the entries of a folder, in the order of names. What is no folder, or names what leads out of it, is
        refused."""
        try:
            entries = _decoder.decode(self.get(tree))
        except msgspec.MsgspecError as error:
            raise TreeError(f"the object {tree.hex()} is not a tree: {error}") from None
        for entry in entries:
            if entry.name in (b"", b".", b"..") or b"/" in entry.name or b"\0" in entry.name:
                raise TreeError(f"the tree {tree.hex()} has an entry with the name {entry.name!r}")
            if entry.kind not in "fdl" or not entry.kind or (entry.kind != "l" and len(entry.ref) != 32):
                raise TreeError(f"the tree {tree.hex()} has an entry of an unknown kind")
        return entries

    def has(self, tree: bytes) -> bool:
        return tree == EMPTY or self._one("SELECT 1 FROM objects WHERE id = ?", tree) is not None

    # ---- runs

    def note(self, run: str, tree: bytes, moment: str, conversation: str = "") -> None:
        """Keep a tree as long as its run is kept."""
        self._rows(
            "INSERT INTO saved (run, conversation, tree, moment, time) VALUES (?, ?, ?, ?, ?)",
            run, conversation, tree, moment, time.time(),
        )  # fmt: skip

    def share(self, origin: str, fork: str) -> None:
        """Keep the trees of a run as long as its fork is kept, too."""
        self._rows(
            "INSERT INTO saved (run, conversation, tree, moment, time) "
            "SELECT ?, '', tree, 'shared', time FROM saved WHERE run = ?",
            fork, origin,
        )  # fmt: skip

    def first_of(self, run: str) -> bytes | None:
        """The tree that a run began with."""
        return self._one("SELECT tree FROM saved WHERE run = ? AND moment = 'start' ORDER BY number LIMIT 1", run)

    def last_of(self, run: str) -> bytes | None:
        """The last tree of a run itself."""
        return self._one(
            "SELECT tree FROM saved WHERE run = ? AND moment <> 'shared' ORDER BY number DESC LIMIT 1", run
        )

    def last_in(self, conversation: str) -> bytes | None:
        """The last tree of the runs of a conversation."""
        return self._one("SELECT tree FROM saved WHERE conversation = ? ORDER BY number DESC LIMIT 1", conversation)

    def first_in(self, conversation: str) -> bytes | None:
        """The tree that a conversation began with."""
        return self._one("SELECT tree FROM saved WHERE conversation = ? ORDER BY number LIMIT 1", conversation)

    def _one(self, query: str, value: str | bytes) -> bytes | None:
        return next((row[0] for row in self._rows(query, value)), None)

    def _rows(self, query: str, *values: str | bytes | float) -> list[Any]:
        with self._lock, _explained():
            return self._open().execute(query, values).fetchall()

    def trees_of(self, run: str) -> set[str]:
        """The ids of the trees that are kept for a run."""
        return {row[0].hex() for row in self._rows("SELECT DISTINCT tree FROM saved WHERE run = ?", run)}

    def runs(self) -> list[str]:
        """The runs whose trees are kept."""
        return [row[0] for row in self._rows("SELECT DISTINCT run FROM saved")]

    def forget(self, runs: Collection[str], *, delete: bool = True) -> int:
        """Forget the trees of these runs, and delete every object that no other run needs; returns how many."""
        with self._lock, _explained(), self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM saved WHERE run = ?", [(run,) for run in runs])
            if not delete:
                return 0
            connection.execute("CREATE TEMP TABLE needed (id BLOB PRIMARY KEY)")
            try:
                trees = [row[0] for row in connection.execute("SELECT DISTINCT tree FROM saved")]
                self._mark(connection, trees)
                deleted = connection.execute("DELETE FROM objects WHERE id NOT IN needed").rowcount
            finally:
                connection.execute("DROP TABLE needed")
        return deleted

    def _mark(self, connection: sqlite3.Connection, trees: list[bytes]) -> None:
        while trees:
            tree = trees.pop()
            if connection.execute("INSERT OR IGNORE INTO needed VALUES (?)", (tree,)).rowcount and self.has(tree):
                entries = self.entries(tree)
                files = [(entry.ref,) for entry in entries if entry.kind == "f"]
                connection.executemany("INSERT OR IGNORE INTO needed VALUES (?)", files)
                trees.extend(entry.ref for entry in entries if entry.kind == "d")


class _explained:
    """Turns an error of the database into one that says what it means."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, (sqlite3.Error, OSError)):
            raise TreeError(f"the store of trees failed: {error}") from error
