"""The one writer of a SQLite file: on the caller's thread while that is quick, else on its own, many jobs to a commit.

Measured, CPU per append of one 500-byte record on a busy 2-core machine, for one run / for 100 runs at once: commit on the
event loop's thread 70 / 86 us; hop to a thread and back, commits shared 170 / 59; `asyncio.to_thread` 220 / 147; one commit
per turn of the loop 80 / 54. With synchronous=NORMAL a commit in WAL mode is a write into the page cache and no fsync, so
the event loop may do it itself, which also spares the caller a wait. It hands the
job to the thread when that would not be quick:

- always with synchronous=FULL, where every commit waits for the disk;
- while the thread is busy or has jobs waiting (what queues up during a commit shares the next one);
- when another process has the write lock;
- after a commit that took over 20 ms, until the thread has made a quick one.

The thread alone does what fsyncs or may wait: opening, checkpoints, waiting for locks, the heart-beat of claims.
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
CHECKPOINT_AFTER = 400
"""Commits. About 2.5 pages each: the log file stays near 4 MB, SQLite's own default."""
MAX_BATCH = 500


class _Queued:
    """A job that waits for the thread, and the caller that waits for the job."""

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
        beat: Job[None],
        beat_every: float,
    ) -> None:
        self._open = open
        self._explain = explain
        self._inline = inline
        self._lock_timeout = lock_timeout
        self._beat = beat
        self._beat_every = beat_every
        self._con: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        """Held by whoever uses the connection."""
        self._queue: SimpleQueue[_Queued | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        self._closed = False
        self._slow = False
        self._commits = 0

    async def run(self, job: Job[T], *, write: bool = True, quick: bool = True) -> T:
        """What `job` returns, once it is committed. `write=False` for a job that only looks; `quick=False` for a long one."""
        if quick and self._may_run_here() and self._lock.acquire(blocking=False):
            try:
                if self._con is not None:
                    return self._run_here(self._con, job) if write else job(self._con)
            except sqlite3.Error as error:
                if not _is_busy(error):
                    raise self._explain(error) from error
            finally:
                self._lock.release()
        return await self._hand_over(job)

    def _may_run_here(self) -> bool:
        return self._inline and self._con is not None and not self._slow and self._queue.empty()

    def _run_here(self, con: sqlite3.Connection, job: Job[T]) -> T:
        began = time.perf_counter()
        [result] = _commit(con, [job])
        self._slow = time.perf_counter() - began > SLOW
        self._commits += 1
        if self._commits == CHECKPOINT_AFTER:
            self._queue.put(None)
        return result

    async def _hand_over(self, job: Job[T]) -> T:
        queued = _Queued(job)
        with self._start_lock:
            if self._closed:  # the thread would never come to it
                raise JournalError("the journal is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="treadle-journal", daemon=True)
                self._thread.start()
            self._queue.put(queued)
        return await queued.future

    async def close(self) -> None:
        with self._start_lock:
            self._closed = True
            if self._thread is None:
                return
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # Everything below runs on the thread.

    def _work(self) -> None:
        beat_at = time.monotonic() + self._beat_every
        closed = False
        while not closed:
            batch = self._collect(beat_at - time.monotonic())
            with self._lock:
                if batch:
                    self._run_batch(batch)
                if self._commits >= CHECKPOINT_AFTER:
                    self._checkpoint()
                if time.monotonic() >= beat_at:
                    self._keep_claims()
                    beat_at = time.monotonic() + self._beat_every
                closed = self._closed and self._queue.empty()
                if closed and self._con is not None:
                    self._con.close()
                    self._con = None
            _deliver(batch)

    def _collect(self, timeout: float) -> list[_Queued]:
        """All that waits, or what comes first. None in the queue only wakes the thread up."""
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
            results = self._run_patiently([queued.job for queued in batch])
        except Exception as error:
            if len(batch) > 1 and self._con is not None and not _is_busy(error):
                for queued in batch:  # again one by one: only the guilty fail
                    self._run_batch([queued])
                return
            for queued in batch:
                queued.error = self._explain(error) if isinstance(error, sqlite3.Error) else error
            return
        for queued, result in zip(batch, results, strict=True):
            queued.result = result
        self._commits += 1

    def _run_patiently(self, jobs: list[Job[Any]]) -> list[Any]:
        """Commit `jobs` together, waiting for other processes' locks."""
        deadline = time.monotonic() + self._lock_timeout
        pause = 0.001
        while True:
            try:
                if self._con is None:
                    self._con = self._open()
                began = time.perf_counter()
                results = _commit(self._con, jobs)
                self._slow = time.perf_counter() - began > SLOW
                return results
            except sqlite3.Error as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _checkpoint(self) -> None:
        self._commits = 0
        if self._con is not None:
            with suppress(sqlite3.Error):  # the records are safe in the WAL file: the next one tries again
                self._con.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _keep_claims(self) -> None:
        if self._con is not None:
            with suppress(sqlite3.Error):  # a claim that is lost shows at the next append
                self._run_patiently([self._beat])


def _commit(con: sqlite3.Connection, jobs: list[Job[Any]]) -> list[Any]:
    try:
        con.execute("BEGIN IMMEDIATE")
        results = [job(con) for job in jobs]
        con.execute("COMMIT")
    except BaseException:  # Ctrl-C too: a transaction left open would lock everybody out
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
