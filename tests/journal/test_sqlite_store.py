"""The tables of the SQLite journal: damage, migrations, claims, size."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

from treadle._journal import sqlite_store
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


async def closed(path: Path, run: str = "a", steps: int = 3) -> None:
    await (await filled(path, run, steps)).aclose()


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
async def test_a_damaged_last_record_is_named_and_the_rest_can_be_read(path: Path, damage: str):
    await closed(path)
    execute(path, damage)
    journal = SqliteJournal(path)
    with pytest.raises(CorruptLogError, match=r"a#5.*5 records before it are intact.*salvage"):
        await journal.load("a")
    assert [r.seq for r in await journal.load("a", salvage=True)] == [0, 1, 2, 3, 4]
    data = await export_run(journal, "a", salvage=True)
    await journal.delete("a")
    await import_run(journal, data)
    assert len(await journal.load("a")) == 5 + 2  # it is a fork, and parked
    await journal.aclose()


async def test_a_well_formed_record_of_an_unknown_type_is_damage(path: Path):
    journal = await filled(path)
    await journal.append([started("b"), record("b", 1, Noted("x"))])
    text = '{"type":"nonsense"}'
    execute(path, "UPDATE records SET data = ?, sum = ? WHERE key = 2 << 24 | 1", text, zlib.crc32(text.encode()))
    with pytest.raises(CorruptLogError, match=r"b#1.*nonsense"):
        await journal.load("b")
    assert len(await journal.load("a")) == 6
    await journal.aclose()


async def test_a_missing_record_is_named(path: Path):
    await closed(path)
    execute(path, "DELETE FROM records WHERE key & 0xffffff = 2")
    journal = SqliteJournal(path)
    with pytest.raises(CorruptLogError, match="a#2 is missing"):
        await journal.load("a")
    assert len(await journal.load("a", salvage=True)) == 2
    await journal.aclose()


def test_a_damaged_page_is_named_and_the_records_before_it_can_be_read(path: Path):
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
async def test_a_damaged_file_says_what_to_do(path: Path, content: bytes):
    path.write_bytes(content)
    journal = SqliteJournal(path)
    with pytest.raises(CorruptLogError, match=r"damaged.*recover"):
        await journal.append([started("a")])
    with pytest.raises(CorruptLogError):
        await journal.list()
    await journal.aclose()
    assert path.read_bytes() == content


# Versions


async def test_another_programs_database_is_refused_unchanged(path: Path):
    execute(path, "CREATE TABLE precious(x)")
    before = path.read_bytes()
    journal = SqliteJournal(path)
    with pytest.raises(JournalError, match="another program"):
        await journal.append([started("a")])
    await journal.aclose()
    assert path.read_bytes() == before


def test_a_file_that_another_process_creates_meanwhile_is_a_journal(path: Path):
    first, second = sqlite_store.connect(path), sqlite_store.connect(path)
    attempts: list[str] = []

    def create_meanwhile(statement: str) -> None:
        if "user_version" in statement and not attempts:
            attempts.append(statement)
            with suppress(sqlite3.OperationalError):  # it has to wait for the first
                sqlite_store.prepare(second, "NORMAL")

    first.set_trace_callback(create_meanwhile)
    sqlite_store.prepare(first, "NORMAL")
    sqlite_store.prepare(second, "NORMAL")
    assert len(attempts) == 1
    first.close()
    second.close()


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


def test_the_log_can_be_read_with_a_sqlite_shell(path: Path):
    asyncio.run(closed(path))
    assert execute(path, "SELECT run, seq, type FROM log WHERE seq IN (0, 5)") == [
        ("a", 0, "run_started"),
        ("a", 5, "run_finished"),
    ]


# Records and claims


async def test_the_number_of_a_deleted_run_is_not_used_again(path: Path):
    driver, other = SqliteJournal(path), SqliteJournal(path)
    await driver.append([started("a"), done("a", 1)])
    await other.delete("a")
    await other.append([started("b"), done("b", 1)])
    with pytest.raises(JournalError, match="deleted"):
        await driver.append([done("a", 2)])
    assert len(await other.load("b")) == 2
    await driver.aclose()
    await other.aclose()


async def test_gc_returns_space_to_the_disk(path: Path):
    journal = await filled(path, "a", 2000)
    await journal.append(log("b"))
    await journal.delete("b")
    assert await journal.gc(older_than=-1) == ["a"]
    await journal.aclose()
    assert path.stat().st_size < 100_000


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


def move_claim(path: Path, run: str, until: float) -> None:
    """Make the claim look like one of another machine."""
    execute(path, "UPDATE claims SET host = 'elsewhere', until = ? WHERE run = ?", until, run)


async def test_a_claim_of_another_machine_holds_until_its_lease_expires_and_is_fenced_out_then(path: Path):
    old, new = SqliteJournal(path), SqliteJournal(path)
    await old.claim("a", "old")
    await old.append([started("a")])
    move_claim(path, "a", time.time() + 60)
    with pytest.raises(RunBusyError, match="old"):
        await new.claim("a", "new")
    move_claim(path, "a", time.time() - 1)
    assert await new.claim("a", "new") == 2
    with pytest.raises(RunBusyError, match="new"):
        await old.append([done("a", 1, "too late")])
    await new.append([done("a", 1)])
    await new.release("a", "new")
    with pytest.raises(RunBusyError, match="nobody"):
        await old.append([done("a", 2, "too late still")])
    assert len(await new.load("a")) == 2
    await old.aclose()
    assert await new.claim("a", "newer") == 3
    await new.aclose()


async def test_a_driver_renews_its_claims(path: Path):
    driver = SqliteJournal(path, lease=0.2)
    await driver.claim("a", "driver")
    ends = [execute(path, "SELECT until FROM claims")[0][0]]
    while len(ends) < 3:
        await asyncio.sleep(0.01)
        if (until := execute(path, "SELECT until FROM claims")[0][0]) != ends[-1]:
            ends.append(until)
    assert ends == sorted(ends)  # pyright: ignore
    await driver.aclose()
