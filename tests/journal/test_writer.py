"""The writer of a SQLite file: which thread writes, shared commits, locks of other processes, checkpoints."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from treadle._journal import sqlite_store, writer
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import JournalError, RunBusyError

from .logs import done, log, started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def test_waiting_appends_share_a_commit(path: Path):
    journal = SqliteJournal(path, synchronous="FULL")
    await journal.append([started("first")])
    inner = journal._writer  # pyright: ignore
    before = inner._commits  # pyright: ignore
    with inner._lock:  # pyright: ignore - the thread cannot commit before all of them wait
        appends = [asyncio.create_task(journal.append([started(f"r{n}")])) for n in range(200)]
        await asyncio.sleep(0)
    await asyncio.gather(*appends)
    assert inner._commits - before <= 2  # pyright: ignore
    assert len(await journal.list(limit=500)) == 201
    await journal.aclose()


async def test_a_refused_append_does_not_harm_those_it_shares_a_commit_with(path: Path):
    journal = SqliteJournal(path, synchronous="FULL")
    await journal.append([started("a")])
    work = [journal.append([started(run)]) for run in ("b", "a", "c", "a", "d")]
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    assert [isinstance(outcome, RunBusyError) for outcome in outcomes] == [False, True, False, True, False]
    assert {info.run_id for info in await journal.list()} == {"a", "b", "c", "d"}
    await journal.aclose()


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
async def test_the_event_loop_continues_while_another_process_holds_the_lock(path: Path, synchronous: str):
    """If the append blocked the event loop, the lock would never be released and the append would fail."""
    journal = SqliteJournal(path, synchronous=synchronous)  # pyright: ignore
    await journal.append([started("a")])
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    append = asyncio.create_task(journal.append([done("a", 1)]))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not append.done()
    other.execute("COMMIT")
    other.close()
    await append
    assert len(await journal.load("a")) == 2
    await journal.aclose()


async def test_a_lock_that_stays_is_an_error_that_says_so(path: Path):
    journal = SqliteJournal(path, lock_timeout=0.1)
    await journal.append([started("a")])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match=r"locked.*resume"):
        await journal.append([done("a", 1)])
    other.close()
    await journal.append([done("a", 1)])
    await journal.aclose()


def test_a_lock_that_stays_is_waited_for_once(path: Path):
    async def main() -> float:
        journal = SqliteJournal(path, lock_timeout=0.4)
        await journal.append([started("a")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(JournalError):
                await journal.append([done("a", 1)])
        took = time.monotonic() - began
        other.close()
        await journal.append([done("a", 1)])
        await journal.aclose()
        return took

    assert asyncio.run(main()) < 20 * 0.4 - 1


async def test_after_a_slow_commit_the_thread_writes(path: Path, monkeypatch: pytest.MonkeyPatch):
    threads: list[str] = []
    append = sqlite_store.append

    def observed(*args: object) -> int:
        threads.append(threading.current_thread().name)
        return append(*args)  # pyright: ignore

    monkeypatch.setattr(writer, "SLOW", float("inf"))  # no commit is slow
    journal = SqliteJournal(path)
    await journal.append([started("b")])
    monkeypatch.setattr(sqlite_store, "append", observed)
    await journal.append([done("b", 1)])
    monkeypatch.setattr(writer, "SLOW", -1.0)  # every commit is slow
    await journal.append([done("b", 2)])
    await journal.append([done("b", 3)])
    monkeypatch.setattr(writer, "SLOW", float("inf"))
    await journal.append([done("b", 4)])
    await journal.append([done("b", 5)])
    here, other = "MainThread", "treadle-journal"
    assert threads == [here, here, other, other, here]
    assert len(await journal.load("b")) == 6
    await journal.aclose()


def test_one_journal_serves_several_event_loops(path: Path):
    journal = SqliteJournal(path)
    failures: list[BaseException] = []

    def drive(run: str) -> None:
        async def main() -> None:
            for item in log(run, 100):
                await journal.append([item])
                await asyncio.sleep(0)

        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=drive, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures

    async def check() -> None:
        assert [info.records for info in await journal.list()] == [103] * 4
        await journal.aclose()

    asyncio.run(check())


async def test_a_cancelled_append_leaves_the_journal_usable(path: Path):
    journal = SqliteJournal(path, synchronous="FULL")
    await journal.append([started("a")])
    append = asyncio.create_task(journal.append([done("a", 1)]))
    await asyncio.sleep(0)
    append.cancel()
    with pytest.raises(asyncio.CancelledError):
        await append
    await journal.append([started("b")])
    stored = len(await journal.load("a"))
    await journal.append([done("a", stored)])
    await journal.aclose()


async def test_a_closed_journal_says_so(path: Path):
    journal = SqliteJournal(path)
    await journal.append(log("a"))
    await journal.aclose()
    await journal.aclose()
    for work in (journal.append([started("b")]), journal.load("a")):
        with pytest.raises(JournalError, match="closed"):
            await work


async def test_checkpoints_bound_the_write_ahead_log(path: Path):
    journal = SqliteJournal(path)
    await journal.append([started("a")])
    for seq in range(1, 3000):
        await journal.append([done("a", seq, "x" * 400)])
    assert path.with_name("journal.db-wal").stat().st_size < 10_000_000
    await journal.aclose()


async def test_the_thread_checkpoints_while_appends_continue(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "CHECKPOINT_AFTER", 10)

    async def append_log(journal: SqliteJournal, run: str) -> None:
        for item in log(run, 20):
            await journal.append([item])
            await asyncio.sleep(0.001)

    journal = SqliteJournal(path)
    await asyncio.gather(*(append_log(journal, f"r{n}") for n in range(20)))
    assert [info.records for info in await journal.list()] == [23] * 20
    await journal.aclose()
