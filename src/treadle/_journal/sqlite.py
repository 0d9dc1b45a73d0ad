"""The embedded journal: one SQLite file for all runs of a user, shared safely by the processes of one machine."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from treadle._journal import sqlite_store as store
from treadle._journal.base import InboxItem
from treadle._journal.catalog import sqlite as catalog
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.journal import CatalogJournal
from treadle._journal.pending_inbox import PendingItems
from treadle._journal.process import this_process
from treadle._journal.rows import to_rows
from treadle._journal.writer import Writer
from treadle._types.errors import ConfigError, JournalError
from treadle._types.events import Record, RunFinished
from treadle._types.paths import state_folder

T = TypeVar("T")

_WORDS = catalog.words(store.UPDATED, store.RECORDS, f"l.key BETWEEN {store.KEYS}")


class SqliteJournal(CatalogJournal):
    """A journal in a file, by default `journal.db` in the user's state folder (`$TREADLE_STATE` moves it).

    `synchronous="NORMAL"`: what was appended survives a kill of the process at any instant (kill -9); a power failure
    may lose the records of the last seconds, and leaves an intact log. `"FULL"` survives power failures too: each
    commit waits for the disk, and runs that wait at the same time share one commit.

    The file is opened, or made, at the first use; its folder has to be there. `read_only` reads a file that cannot or
    must not be written.
    """

    inline = True
    """An append nearly always stores at once, without yielding to the event loop."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
        lock_timeout: float = 30.0,
        lease: float = 20.0,
        read_only: bool = False,
    ) -> None:
        self.path = Path(path).expanduser() if path is not None else state_folder() / "journal.db"
        if path is not None and not self.path.parent.is_dir():
            raise ConfigError(f"journal {path}: there is no folder {self.path.parent}; correct the path, or create it")
        self._lock_timeout = lock_timeout
        self._lease = lease
        self._read_only = read_only
        self._epochs: dict[str, int] = {}
        """The epoch of the claim of each run that this journal drives."""
        self._numbers: dict[str, int] = {}
        """The number in the file of each run that is being written."""
        self._pending_items = PendingItems()
        self._readers: list[sqlite3.Connection] = []
        """The connection for reading, once it is open."""
        self._reading = threading.Lock()
        self._made = False
        # Nothing of this may hold on to the journal: the writer's thread would keep that alive.
        path, epochs = self.path, self._epochs
        self._writer = Writer(
            lambda: _open(path, synchronous),
            lambda error: store.explain(error, path),
            inline=synchronous == "NORMAL",
            lock_timeout=lock_timeout,
            renew=lambda con: store.renew_claims(con, list(epochs.items()), lease),
            renew_every=lease / 4,
        )
        weakref.finalize(self, _drop, self._writer, self._readers).atexit = False
        _journals.add(self)

    def __repr__(self) -> str:
        return f"SqliteJournal({str(self.path)!r})"

    async def append(self, records: Sequence[Record]) -> None:
        if not records:
            return
        rows = to_rows(records)
        run = rows[0].run
        number, epoch = self._numbers.get(run), self._epochs.get(run, 0)
        recorded = self._pending_items.recorded_by(records)
        self._numbers[run] = await self._write(
            lambda con: store.append(con, records, rows, number, epoch, recorded),
            quick=not any(row.contents for row in rows),
        )
        if recorded:
            self._pending_items.forget(run, recorded)
        if isinstance(records[-1].event, RunFinished):
            del self._numbers[run]

    async def load(self, run_id: str, after: int = -1, *, salvage: bool = False) -> list[Record]:
        return await self._read(lambda con: store.load(con, run_id, after, salvage, self.path))

    async def _ask(self, steps: Callable[[sql.Words, Sequence[str]], sql.Steps[T]], said: str = "") -> T:
        def job(con: sqlite3.Connection) -> T:
            con.execute("BEGIN")  # one snapshot for all of it
            try:
                return catalog.run(con, steps(_WORDS, store.driven_runs(con)))
            finally:
                con.execute("COMMIT")

        return await self._read(job)

    async def _do(
        self, steps: Callable[[sql.Words], sql.Steps[T]], *, change: bool = True, lock: str = "", again: bool = True
    ) -> T:
        return await self._write(lambda con: catalog.run(con, steps(_WORDS)), transaction=change)

    async def delete(self, run_id: str) -> None:
        await self._write(lambda con: store.delete(con, run_id), quick=False)

    async def _shrink(self) -> None:
        while await self._write(store.shrink, quick=False):
            pass

    async def claim(self, run_id: str, owner: str) -> int:
        epoch = await self._write(lambda con: store.claim(con, run_id, owner, this_process(), self._lease))
        self._epochs[run_id] = epoch
        self._pending_items.remove_all(run_id)
        return epoch

    async def release(self, run_id: str, owner: str) -> None:
        await self._write(lambda con: store.release(con, run_id, owner))
        self._epochs.pop(run_id, None)
        self._numbers.pop(run_id, None)

    async def is_driven(self, run_id: str) -> bool:
        return await self._read(lambda con: store.is_driven(con, run_id))

    async def put(self, item: InboxItem) -> None:
        await self._write(lambda con: store.put(con, item))

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        # A driver asks often and nearly always finds nothing: this needs no lock.
        if not await self._write(lambda con: store.waiting(con, run_id, kinds), transaction=False):
            return []
        items = await self._write(lambda con: store.take(con, run_id, kinds))
        self._pending_items.add(run_id, items)
        return items

    async def recall(self, run_id: str, item_id: str) -> bool:
        return await self._write(lambda con: store.recall(con, run_id, item_id))

    async def aclose(self) -> None:
        """Release the runs that this journal still drives, and close the file."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """The same without `await`. A journal that is dropped closes its file by itself."""
        held = [*self._epochs.items()]
        self._epochs.clear()
        self._writer.close((lambda con: store.release_all(con, held)) if held else None)
        with self._reading:
            for reader in self._readers:
                reader.close()
            self._readers.clear()

    async def _write(
        self, job: Callable[[sqlite3.Connection], T], *, transaction: bool = True, quick: bool = True
    ) -> T:
        if self._read_only:
            raise JournalError(f"journal {self.path} is open for reading only: open it without read_only=True to write")
        return await self._writer.run(job, transaction=transaction, quick=quick)

    async def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        if not self._read_only and not self._made:
            await self._write(lambda con: None, transaction=False)  # the file and its tables exist from here on
            self._made = True
        return await asyncio.to_thread(self._read_on_thread, job)

    def _read_on_thread(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with self._reading:
            try:
                if not self._readers:
                    self._readers.append(self._open_reader())
                return job(self._readers[0])
            except sqlite3.Error as error:
                raise store.explain(error, self.path) from error

    def _open_reader(self) -> sqlite3.Connection:
        con = store.connect(self.path, timeout=self._lock_timeout, read_only=self._read_only)
        if self._read_only:
            try:
                con.execute("SELECT 1 FROM records").fetchone()
            except sqlite3.OperationalError:
                # WAL mode writes files beside the database even for reading. Where that cannot be, read it alone.
                con.close()
                con = store.connect(self.path, read_only=True, immutable=True)
            try:
                store.refuse_foreign_code(con)
            except JournalError as error:
                con.close()
                raise JournalError(f"journal {self.path} {error}") from None
            catalog.add_missing_tables(con)
        catalog.prepare_reader(con)
        return con

    def forget_parent(self) -> list[sqlite3.Connection]:
        """In a forked process: the connections, and the runs that are driven, are the parent's."""
        written, read = self._writer.forget_parent(), [*self._readers]
        self._readers.clear()
        self._reading = threading.Lock()
        self._epochs.clear()
        self._numbers.clear()
        self._pending_items = PendingItems()
        return [*read, *([] if written is None else [written])]


def _open(path: Path, synchronous: Literal["NORMAL", "FULL"]) -> sqlite3.Connection:
    """The connection for writing. Called on the writer's thread."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Conversations are private: SQLite itself would create the file with the permissions of the umask.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise JournalError(
            f"journal {path} cannot be created or written ({error.strerror}): give it another path"
        ) from error
    con = store.connect(path)
    try:
        store.prepare(con, synchronous)
    except JournalError as error:
        con.close()
        raise JournalError(f"journal {path} {error}") from error
    except BaseException:
        con.close()
        raise
    return con


def _drop(writer: Writer, readers: list[sqlite3.Connection]) -> None:
    """Close the file of a journal that was garbage-collected."""
    writer.shut()
    for reader in readers:
        reader.close()


_journals: weakref.WeakSet[SqliteJournal] = weakref.WeakSet()
_of_parents: list[sqlite3.Connection] = []
"""Connections that a forked process has no right to: they are kept, so that they are never closed here."""


def _forked() -> None:
    for journal in _journals:
        _of_parents.extend(journal.forget_parent())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
