"""The only writer of a SQLite file: on the thread of the caller while that is quick, else on its own, in batches.

CPU per append of one 500-byte record on a busy 2-core machine, for one run / for 100 runs at once: commit on the thread
of the event loop 70 / 86 us; on another thread, with shared commits, 170 / 59; `asyncio.to_thread` 220 / 147; one
commit per iteration of the event loop 80 / 54. With synchronous=NORMAL a commit in WAL mode writes to the page cache
without fsync. So the event loop does it itself, and the caller need not wait. A job goes to the thread when that would
not be quick:

- always with synchronous=FULL, where every commit waits for the disk;
- while the thread is busy or has jobs waiting (jobs that arrive during a commit share the next one);
- when another process has the write lock;
- after a commit that took over 20 ms, until the thread has made a quick one.

Only the thread does what needs fsync or may wait: opening, checkpoints, waiting for locks, renewing claims.

The thread keeps its writer alive, so a writer knows nothing of the journal it writes for: a journal that is dropped
shuts it (`shut`). In a forked process there is neither the thread nor a right to the connection: it begins anew
(`forget_parent`).
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from treadle._types.errors import JournalError

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]

SLOW = 0.02
"""Seconds. After a slower commit the next jobs go to the thread."""
CHECKPOINT_AFTER = 400
"""Commits. At about 2.5 pages each the WAL file stays near 4 MB, which is SQLite's own default."""
MAX_BATCH = 500


class _Queued:
    """A job for the thread, and the future its caller waits for."""

    __slots__ = ("error", "future", "job", "loop", "result")

    def __init__(self, job: Job[Any]) -> None:
        self.job = job
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: Exception | None = None

    def settle(self) -> None:
        if self.future.done():  # its caller was cancelled
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    def __init__(
        self,
        open: Callable[[], sqlite3.Connection],
        explain: Callable[[sqlite3.Error], JournalError],
        *,
        inline: bool,
        lock_timeout: float,
        renew: Job[None],
        renew_every: float,
    ) -> None:
        self._open = open
        self._explain = explain
        self._inline = inline
        self._lock_timeout = lock_timeout
        self._busy_since: float | None = None
        """Since when somebody else has had the write lock at every attempt."""
        self._renew = renew
        self._renew_every = renew_every
        self._con: sqlite3.Connection | None = None
        self._closed = False
        self._last: Job[None] | None = None
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        """Held while the connection is in use."""
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        self._slow = False
        self._commits = 0

    async def run(self, job: Job[T], *, transaction: bool = True, quick: bool = True) -> T:
        """The result of `job`, once it is committed.

        `transaction=False` is for a job that only reads, `quick=False` for one that takes long.
        """
        may = self._inline and self._con is not None and not self._slow and self._queue.empty()
        if quick and may and self._lock.acquire(blocking=False):
            try:
                if self._con is not None:
                    return self._run_inline(self._con, job) if transaction else job(self._con)
            except sqlite3.Error as error:
                if not _is_busy(error):
                    raise self._explain(error) from error
            finally:
                self._lock.release()
        return await self._run_on_thread(job)

    def _run_inline(self, con: sqlite3.Connection, job: Job[T]) -> T:
        began = time.perf_counter()
        [result] = _commit(con, [job])
        self._busy_since = None
        self._slow = time.perf_counter() - began > SLOW
        self._commits += 1
        if self._commits == CHECKPOINT_AFTER:
            self._queue.put(None)
        return result

    async def _run_on_thread(self, job: Job[T]) -> T:
        queued = _Queued(job)
        with self._start_lock:
            if self._closed:  # the thread would never run it
                raise JournalError("the journal is closed: open another one, or make a new agent")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="treadle-journal", daemon=True)
                self._thread.start()
            self._queue.put(queued)
        return await queued.future

    def close(self, last: Job[None] | None = None) -> None:
        """Do a `last` job if the file is open, close it, and wait for that: up to `lock_timeout` where another process
        has the lock."""
        with self._start_lock:
            thread = self._thread
            if not self._closed and thread is not None:
                self._last = last
            self._closed = True
            if thread is None:
                return
            self._queue.put(None)
        thread.join()

    def shut(self) -> None:
        """The same for a journal that nobody has any more: waits for nothing, takes no lock, works on any thread."""
        self._closed = True
        self._queue.put(None)

    def forget_parent(self) -> sqlite3.Connection | None:
        """In a forked process: open the file anew when it is needed. What is returned belongs to the parent: it must
        be kept, since closing it here would take the parent's locks away."""
        con, self._con = self._con, None
        self._begin()
        return con

    # All methods below run on the thread.

    def _work(self) -> None:
        renew_at = time.monotonic() + self._renew_every
        closed = False
        while not closed:
            batch = self._collect(renew_at - time.monotonic())
            with self._lock:
                if batch:
                    self._run_batch(batch)
                if self._commits >= CHECKPOINT_AFTER:
                    self._checkpoint()
                if time.monotonic() >= renew_at:
                    self._renew_claims()
                    renew_at = time.monotonic() + self._renew_every
                closed = self._closed and self._queue.empty()
                if closed and self._con is not None:
                    if self._last is not None:
                        with suppress(sqlite3.Error, JournalError):  # the file must be closed all the same
                            self._run_with_retries([self._last])
                    self._con.close()
                    self._con = None
            _deliver(batch)
            del batch  # its jobs know their journal, which may be dropped while the thread waits for more

    def _collect(self, timeout: float) -> list[_Queued]:
        """The jobs that wait, or the first that arrives in time. None in the queue only wakes the thread."""
        batch: list[_Queued] = []
        try:
            first = self._queue.get(timeout=max(timeout, 0.0))
            if first is not None:
                batch.append(first)
            while len(batch) < MAX_BATCH:
                more = self._queue.get_nowait()
                if more is not None:
                    batch.append(more)
        except Empty:
            pass
        return batch

    def _run_batch(self, batch: list[_Queued]) -> None:
        try:
            results = self._run_with_retries([queued.job for queued in batch])
        except Exception as error:
            if len(batch) > 1 and self._con is not None and not _is_busy(error):
                for queued in batch:  # again, one by one: only the jobs with the error fail
                    self._run_batch([queued])
                return
            for queued in batch:
                queued.error = self._explain(error) if isinstance(error, sqlite3.Error) else error
            return
        for queued, result in zip(batch, results, strict=True):
            queued.result = result
        self._commits += 1

    def _run_with_retries(self, jobs: list[Job[Any]]) -> list[Any]:
        """Commit `jobs` together; wait for the locks of others, all jobs together no longer than `lock_timeout`: a run
        that cannot be recorded has many last things to record, and has to end."""
        pause = 0.001
        while True:
            try:
                if self._con is None:
                    self._con = self._open()
                began = time.perf_counter()
                results = _commit(self._con, jobs)
                self._slow = time.perf_counter() - began > SLOW
                self._busy_since = None
                return results
            except sqlite3.Error as error:
                if not _is_busy(error):
                    raise
                now = time.monotonic()
                self._busy_since = self._busy_since or now
                if now > self._busy_since + self._lock_timeout:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _checkpoint(self) -> None:
        self._commits = 0
        if self._con is not None:
            with suppress(sqlite3.Error):  # the records are safe in the WAL file: the next checkpoint tries again
                self._con.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _renew_claims(self) -> None:
        if self._con is not None:
            with suppress(sqlite3.Error):  # if a claim is lost, the next append fails
                self._run_with_retries([self._renew])


def _commit(con: sqlite3.Connection, jobs: list[Job[Any]]) -> list[Any]:
    try:
        con.execute("BEGIN IMMEDIATE")
        results = [job(con) for job in jobs]
        con.execute("COMMIT")
    except BaseException:  # also Ctrl-C: an open transaction would lock out every other writer
        con.rollback()
        raise
    return results


def _is_busy(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _deliver(batch: list[_Queued]) -> None:
    for loop, group in groupby(batch, key=lambda queued: queued.loop):
        with suppress(RuntimeError):  # a loop that has closed no longer waits for anything
            loop.call_soon_threadsafe(_settle, list(group))


def _settle(batch: list[_Queued]) -> None:
    for queued in batch:
        queued.settle()
