"""What is special about the file: locks, room, damage, versions."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle._journal import sqlite_store, writer
from treadle._journal.export import export_run, import_run
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import CorruptLogError, JournalError, RunBusyError
from treadle._types.events import Noted

from .logs import done, log, record, started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def execute(path: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    con = sqlite3.connect(path)
    try:
        with con:
            return con.execute(sql, values).fetchall()
    finally:
        con.close()


async def filled(path: Path, run: str = "a", steps: int = 3) -> SqliteJournal:
    journal = SqliteJournal(path)
    await journal.append(log(run, steps))
    return journal


# Writing


def test_a_hundred_runs_at_once(path: Path):
    async def main() -> None:
        journal = SqliteJournal(path)

        async def one(run: str) -> None:
            for item in log(run, 22):
                await journal.append([item])
                await asyncio.sleep(0)

        await asyncio.gather(*(one(f"r{n}") for n in range(100)))
        for n in range(100):
            assert len(await journal.load(f"r{n}")) == 25
        await journal.aclose()

    asyncio.run(main())


def test_waiting_appends_share_a_commit(path: Path):
    async def main() -> None:
        journal = SqliteJournal(path, synchronous="FULL")
        await journal.append([started("first")])
        before = journal._writer._commits  # pyright: ignore
        await asyncio.gather(*(journal.append([started(f"r{n}")]) for n in range(200)))
        assert journal._writer._commits - before <= 20  # pyright: ignore
        assert len(await journal.list(limit=500)) == 201
        await journal.aclose()

    asyncio.run(main())


def test_a_refused_append_does_not_harm_those_it_shares_a_commit_with(path: Path):
    async def main() -> None:
        journal = SqliteJournal(path, synchronous="FULL")
        await journal.append([started("a")])
        work = [journal.append([started(run)]) for run in ("b", "a", "c", "a", "d")]
        outcomes = await asyncio.gather(*work, return_exceptions=True)
        assert [isinstance(outcome, RunBusyError) for outcome in outcomes] == [False, True, False, True, False]
        assert {info.run_id for info in await journal.list()} == {"a", "b", "c", "d"}
        await journal.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_the_event_loop_goes_on_while_another_process_holds_the_lock(path: Path, synchronous: str):
    async def main() -> None:
        journal = SqliteJournal(path, synchronous=synchronous)  # pyright: ignore
        await journal.append([started("a")])
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        append = asyncio.create_task(journal.append([done("a", 1)]))
        longest, last = 0.0, time.perf_counter()
        for _ in range(30):
            await asyncio.sleep(0.01)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        assert not append.done()
        assert longest < 0.15
        other.execute("COMMIT")
        other.close()
        await append
        assert len(await journal.load("a")) == 2
        await journal.aclose()

    asyncio.run(main())


def test_a_lock_that_stays_is_an_error_that_says_so(path: Path):
    async def main() -> None:
        journal = SqliteJournal(path, lock_timeout=0.1)
        await journal.append([started("a")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match=r"locked.*resume"):
            await journal.append([done("a", 1)])
        other.close()
        await journal.append([done("a", 1)])
        await journal.aclose()

    asyncio.run(main())


def test_after_a_slow_commit_the_thread_writes(path: Path, monkeypatch: pytest.MonkeyPatch):
    threads: set[str] = set()
    append = sqlite_store.append

    def slow(*args: object) -> None:
        threads.add(threading.current_thread().name)
        time.sleep(0.03)
        append(*args)  # pyright: ignore

    async def main() -> None:
        journal = await filled(path)
        await journal.append([started("b")])
        monkeypatch.setattr(sqlite_store, "append", slow)
        await journal.append([done("b", 1)])
        assert threads == {"MainThread"}
        await journal.append([done("b", 2)])
        assert threads == {"MainThread", "treadle-journal"}
        assert len(await journal.load("b")) == 3
        await journal.aclose()

    asyncio.run(main())


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


def test_a_cancelled_append_leaves_the_journal_usable(path: Path):
    async def main() -> None:
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

    asyncio.run(main())


def test_a_closed_journal_says_so(path: Path):
    async def main() -> None:
        journal = await filled(path)
        await journal.aclose()
        await journal.aclose()
        for work in (journal.append([started("b")]), journal.load("a")):
            with pytest.raises(JournalError, match="closed"):
                await work

    asyncio.run(main())


# Size


def test_bytes_on_disk_are_linear_in_steps(path: Path, tmp_path: Path):
    def size(steps: int) -> int:
        file = tmp_path / f"{steps}.db"

        async def main() -> None:
            journal = SqliteJournal(file)
            await journal.append([started("a")])
            for seq in range(1, steps + 1):
                await journal.append([done("a", seq, "x" * 400)])
            await journal.aclose()

        asyncio.run(main())
        assert not file.with_name(f"{steps}.db-wal").exists()
        return file.stat().st_size

    small, middle, large = size(500), size(1000), size(2000)
    first, second = (middle - small) / 500, (large - middle) / 1000
    assert 500 < first < 800
    assert abs(first - second) / first < 0.1


def test_the_write_ahead_log_does_not_grow_for_ever(path: Path):
    async def main() -> None:
        journal = SqliteJournal(path)
        await journal.append([started("a")])
        for seq in range(1, 3000):
            await journal.append([done("a", seq, "x" * 400)])
        assert path.with_name("journal.db-wal").stat().st_size < 10_000_000
        await journal.aclose()

    asyncio.run(main())


def test_gc_gives_the_room_back(path: Path):
    async def main() -> None:
        journal = await filled(path, "a", 2000)
        await journal.append(log("b"))
        await journal.delete("b")
        assert await journal.gc(older_than=-1) == ["a"]
        await journal.aclose()

    asyncio.run(main())
    assert path.stat().st_size < 100_000


# Failing


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def fill_until_it_fails(journal: SqliteJournal, run: str = "a") -> int:
    await journal.append([started(run)])
    for seq in range(1, 1000):
        try:
            await journal.append([done(run, seq, "x" * 4000)])
        except JournalError:
            with pytest.raises(JournalError, match=r"disk is full.*resume"):
                await journal.append([done(run, seq, "x" * 4000)])
            return seq
    raise AssertionError("it never got full")


def test_a_full_disk_stops_the_run_and_keeps_the_log(tiny_disk: Path):
    async def main() -> None:
        ballast = tiny_disk / "ballast"
        ballast.write_bytes(bytes(100_000))
        journal = SqliteJournal(tiny_disk / "journal.db")
        stored = await fill_until_it_fails(journal)
        assert len(await journal.load("a")) == stored
        ballast.unlink()
        await journal.append([done("a", stored)])
        assert len(await journal.load("a")) == stored + 1
        await journal.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_a_full_database_stops_the_run_and_keeps_the_log(path: Path, synchronous: str, monkeypatch: pytest.MonkeyPatch):
    prepare = sqlite_store.prepare

    def small(con: sqlite3.Connection, synchronous: str) -> None:
        prepare(con, synchronous)
        con.execute("PRAGMA max_page_count = 60")

    monkeypatch.setattr(sqlite_store, "prepare", small)

    async def main() -> None:
        journal = SqliteJournal(path, synchronous=synchronous)  # pyright: ignore
        stored = await fill_until_it_fails(journal)
        assert [r.seq for r in await journal.load("a")] == list(range(stored))
        await journal.aclose()

    asyncio.run(main())


def test_a_read_only_journal_reads_and_does_not_write(path: Path):
    asyncio.run(closed(path))
    before = path.read_bytes()

    async def main() -> None:
        journal = SqliteJournal(path, read_only=True)
        assert len(await journal.load("a")) == 6
        assert len(await journal.list()) == 1
        for work in (journal.append([started("b")]), journal.claim("a", "me"), journal.delete("a")):
            with pytest.raises(JournalError, match="reading only"):
                await work
        await journal.aclose()

    asyncio.run(main())
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written_says_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch):
    # As root no file is read-only by its mode: SQLite is told to open it so.
    connect = sqlite_store.connect
    asyncio.run(closed(path))
    monkeypatch.setattr(
        sqlite_store, "connect", lambda path, **options: connect(path, **{**options, "read_only": True})
    )  # pyright: ignore

    async def main() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(JournalError, match=r"cannot be written.*permissions"):
            await journal.append([started("b")])
        await journal.aclose()

    asyncio.run(main())


async def closed(path: Path, run: str = "a", steps: int = 3) -> None:
    await (await filled(path, run, steps)).aclose()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="modes do not bind root")
def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path):
    tmp_path.chmod(0o500)

    async def main() -> None:
        with pytest.raises(JournalError, match="cannot be created"):
            await SqliteJournal(tmp_path / "journal.db").append([started("a")])

    asyncio.run(main())


def test_a_path_that_cannot_be_says_what_to_do(tmp_path: Path):
    (tmp_path / "file").write_text("")

    async def main() -> None:
        for path in (tmp_path, tmp_path / "file" / "journal.db"):
            journal = SqliteJournal(path)
            with pytest.raises(JournalError, match="give it another path"):
                await journal.append([started("a")])
            await journal.aclose()

    asyncio.run(main())


# Damage


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE records SET data = substr(data, 1, 20) WHERE key & 0xffffff = 5",
        "UPDATE records SET data = replace(data, '384', '385') WHERE key & 0xffffff = 5",
        "UPDATE records SET data = CAST(x'fffe7b7d' AS TEXT) WHERE key & 0xffffff = 5",
        "UPDATE records SET data = '' WHERE key & 0xffffff = 5",
    ],
    ids=["torn", "one digit", "not UTF-8", "empty"],
)
def test_a_damaged_last_record_is_named_and_the_rest_can_be_had(path: Path, damage: str):
    async def main() -> None:
        await closed(path)
        execute(path, damage)
        journal = SqliteJournal(path)
        with pytest.raises(CorruptLogError, match=r"a#5.*5 records before it are intact.*salvage"):
            await journal.load("a")
        assert [r.seq for r in await journal.load("a", salvage=True)] == [0, 1, 2, 3, 4]
        data = await export_run(journal, "a", salvage=True)
        await journal.delete("a")
        await import_run(journal, data)
        assert len(await journal.load("a")) == 5
        await journal.aclose()

    asyncio.run(main())


def test_a_well_formed_record_of_no_known_type_is_damage(path: Path):
    async def main() -> None:
        journal = await filled(path)
        await journal.append([started("b"), record("b", 1, Noted("x"))])
        text = '{"type":"nonsense"}'
        execute(path, "UPDATE records SET data = ?, sum = ? WHERE key = 2 << 24 | 1", text, zlib.crc32(text.encode()))
        with pytest.raises(CorruptLogError, match=r"b#1.*nonsense"):
            await journal.load("b")
        assert len(await journal.load("a")) == 6
        await journal.aclose()

    asyncio.run(main())


def test_a_missing_record_is_named(path: Path):
    async def main() -> None:
        await closed(path)
        execute(path, "DELETE FROM records WHERE key & 0xffffff = 2")
        journal = SqliteJournal(path)
        with pytest.raises(CorruptLogError, match="a#2 is missing"):
            await journal.load("a")
        assert len(await journal.load("a", salvage=True)) == 2
        await journal.aclose()

    asyncio.run(main())


def test_a_damaged_page_is_named_and_the_records_before_it_can_be_had(path: Path):
    asyncio.run(closed(path, steps=400))
    data = bytearray(path.read_bytes())
    page = data.index(b"result 300") // 2048
    data[page * 2048 : (page + 1) * 2048] = b"\xff" * 2048
    path.write_bytes(data)

    async def main() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(CorruptLogError, match="damaged"):
            await journal.load("a")
        saved = await journal.load("a", salvage=True)
        assert 200 < len(saved) <= 300
        assert [r.seq for r in saved] == list(range(len(saved)))
        await journal.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    "content", [b"this is not a database" * 400, b"SQLite format 3\x00" + b"\xff" * 8000], ids=["text", "header"]
)
def test_a_damaged_file_says_what_to_do(path: Path, content: bytes):
    path.write_bytes(content)

    async def main() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(CorruptLogError, match=r"damaged.*recover"):
            await journal.append([started("a")])
        with pytest.raises(CorruptLogError):
            await journal.list()
        await journal.aclose()

    asyncio.run(main())
    assert path.read_bytes() == content


# Versions and places


def test_another_programs_database_is_left_alone(path: Path):
    execute(path, "CREATE TABLE precious(x)")
    before = path.read_bytes()

    async def main() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(JournalError, match="another program"):
            await journal.append([started("a")])
        await journal.aclose()

    asyncio.run(main())
    assert path.read_bytes() == before


def test_an_older_file_is_migrated_and_a_newer_one_refused(path: Path, monkeypatch: pytest.MonkeyPatch):
    asyncio.run(closed(path))
    old = sqlite_store.MIGRATIONS
    assert execute(path, "PRAGMA user_version") == [(len(old),)]

    async def main() -> None:
        journals = [SqliteJournal(path) for _ in range(5)]
        loaded = await asyncio.gather(*(journal.load("a") for journal in journals))
        assert [len(records) for records in loaded] == [6] * 5
        for journal in journals:
            await journal.aclose()

    with monkeypatch.context() as newer:
        newer.setattr(
            sqlite_store, "MIGRATIONS", (*old, ("ALTER TABLE runs ADD COLUMN label TEXT NOT NULL DEFAULT 'none'",))
        )
        asyncio.run(main())
        assert execute(path, "SELECT label FROM runs") == [("none",)]

    async def too_new() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(JournalError, match="newer Treadle"):
            await journal.list()
        await journal.aclose()

    asyncio.run(too_new())


def test_a_failed_migration_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch):
    asyncio.run(closed(path))
    old = sqlite_store.MIGRATIONS
    with monkeypatch.context() as newer:
        newer.setattr(sqlite_store, "MIGRATIONS", (*old, ("CREATE TABLE extra(x)", "THIS IS NOT SQL")))

        async def main() -> None:
            journal = SqliteJournal(path)
            with pytest.raises(JournalError):
                await journal.list()
            await journal.aclose()

        asyncio.run(main())
    assert execute(path, "SELECT count(*) FROM sqlite_master WHERE name = 'extra'") == [(0,)]
    asyncio.run(closed(path, "b"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a Unix thing")
def test_the_default_file_is_private_and_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "deep" / "state"))

    async def main() -> None:
        journal = SqliteJournal()
        assert journal.path == tmp_path / "deep" / "state" / "journal.db"
        assert not journal.path.parent.exists(), "nothing happens before it is used"
        await journal.append([started("a")])
        for file in journal.path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
        await journal.aclose()

    asyncio.run(main())


def test_any_file_name_will_do(tmp_path: Path):
    path = tmp_path / "my runs #1 100%?.db" if sys.platform != "win32" else tmp_path / "my runs #1 100%.db"
    asyncio.run(closed(path))
    assert path.stat().st_size > 0


def test_the_log_can_be_read_with_a_plain_shell(path: Path):
    asyncio.run(closed(path))
    assert execute(path, "SELECT run, seq, type FROM log WHERE seq IN (0, 5)") == [
        ("a", 0, "run_started"),
        ("a", 5, "run_finished"),
    ]


def test_the_number_of_a_deleted_run_never_comes_back(path: Path):
    async def main() -> None:
        driver, other = SqliteJournal(path), SqliteJournal(path)
        await driver.append([started("a"), done("a", 1)])
        await other.delete("a")
        await other.append([started("b"), done("b", 1)])
        with pytest.raises(JournalError, match="deleted"):
            await driver.append([done("a", 2)])
        assert len(await other.load("b")) == 2
        await driver.aclose()
        await other.aclose()

    asyncio.run(main())


def test_the_thread_checkpoints_while_appends_go_on(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "CHECKPOINT_AFTER", 10)

    async def main() -> None:
        journal = SqliteJournal(path)
        await asyncio.gather(*(append_log(journal, f"r{n}") for n in range(20)))
        assert [info.records for info in await journal.list()] == [23] * 20
        await journal.aclose()

    async def append_log(journal: SqliteJournal, run: str) -> None:
        for item in log(run, 20):
            await journal.append([item])
            await asyncio.sleep(0.001)

    asyncio.run(main())
